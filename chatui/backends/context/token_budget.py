"""Divides the context window between prompt and answer, and estimates how many tokens a text has."""

from __future__ import annotations

import json
from collections.abc import Iterable

from renderer.frames import Frame
from renderer.harmony.system_messages import FunctionTool

SEEN_CHARS = 1_000_000
"""How much of a branch is read, from its end: more than the context of a gpt-oss model holds (131,072 tokens)."""

ANSWER_TOKENS = 4096
"""How long an answer may be where nobody says, and how much of a context is kept free for one; never more than a quarter of it."""
FRAME_TOKENS = 8.0
"""What stands around the text of a message."""
TEMPLATE_TOKENS = 100.0
"""What a server's template adds to every prompt."""
MARGIN = 0.95
"""Of the room for a prompt, which is counted in advance with a measure that is only about right."""
_ASCII_PER_TOKEN = 3.6
_OTHERS_PER_TOKEN = 1.3


def kept_free(max_tokens: int | None, context: int) -> int:
    """How many tokens of a context are kept free for the answer."""
    return min(max_tokens or ANSWER_TOKENS, context // 4)


def weight(text: str) -> float:
    """About how many tokens a text has; rather too many than too few. What a server counts corrects it (``window.Window.factor``)."""
    plain = len(text.encode("ascii", "ignore"))
    return plain / _ASCII_PER_TOKEN + (len(text) - plain) / _OTHERS_PER_TOKEN


def weight_of(frames: Iterable[Frame]) -> float:
    """About how many tokens these frames have in a prompt."""
    return sum(FRAME_TOKENS + weight(frame.body) for frame in frames)


def weight_of_tools(tools: Iterable[FunctionTool]) -> float:
    """About how many tokens the definitions of these tools have in a prompt."""
    return sum(FRAME_TOKENS + weight(tool.name + tool.description + json.dumps(tool.parameters or {})) for tool in tools)
