"""Divides the context window between prompt and answer, and estimates how many tokens a text has."""

from __future__ import annotations

import json
from collections.abc import Iterable

from renderer.frames import Frame
from renderer.harmony.system_messages import FunctionTool

SEEN_CHARS = 1_000_000
"""How much of a branch is read, from its end: more than fits into the context of a gpt-oss model (131,072 tokens)."""

ANSWER_TOKENS = 4096
"""The default for the longest answer, and the tokens reserved for it; never more than a quarter of the context."""
FRAME_TOKENS = 8.0
"""The tokens around the text of a message."""
TEMPLATE_TOKENS = 100.0
"""The tokens that a server's template adds to every prompt."""
MARGIN = 0.95
"""The part of the space for a prompt that is used, because its tokens are only estimated."""
_ASCII_PER_TOKEN = 3.6
_OTHERS_PER_TOKEN = 1.3


def reserved_tokens(max_tokens: int | None, context: int) -> int:
    """How many tokens of a context are reserved for the answer."""
    return min(max_tokens or ANSWER_TOKENS, context // 4)


def weight(text: str) -> float:
    """The estimated tokens of a text, rather too many than too few. Corrected by what servers count (``window.Window.factor``)."""
    plain = len(text.encode("ascii", "ignore"))
    return plain / _ASCII_PER_TOKEN + (len(text) - plain) / _OTHERS_PER_TOKEN


def weight_of(frames: Iterable[Frame]) -> float:
    """The estimated tokens of these frames in a prompt."""
    return sum(FRAME_TOKENS + weight(frame.body) for frame in frames)


def weight_of_tools(tools: Iterable[FunctionTool]) -> float:
    """The estimated tokens of these tools' definitions in a prompt."""
    return sum(FRAME_TOKENS + weight(tool.name + tool.description + json.dumps(tool.parameters or {})) for tool in tools)
