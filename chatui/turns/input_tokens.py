"""About how many tokens a model reads of a request: of what the program sent, and of what it was shown before.

Nothing else is counted: no instructions of the operator, no replies of the product's tools, no reasoning, not even sealed. So the number
tells a program nothing that it does not have. It is estimated in the same way for every model, without what model servers counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from chatui.backends.context_window import FRAME_TOKENS, weight, weight_of_tools
from chatui.tools.tool import Tool
from chatui.turns.asks import EarlierCall, EarlierMessage, EarlierReply
from renderer.harmony.prompt import FunctionTool


def tokens_of(
    messages: Iterable[EarlierMessage | EarlierCall | EarlierReply], texts: Iterable[str] = (), tools: Iterable[Tool] = ()
) -> int:
    """``messages``: those of the request. ``texts``: its instructions, its question, and earlier texts that the program was shown.
    ``tools``: the program's functions that may be called."""
    sent = [*filter(None, texts), *(text for each in messages if (text := _text(each)))]
    offered = [FunctionTool(tool.name, tool.description, tool.parameters) for tool in tools]
    return round(sum(FRAME_TOKENS + weight(text) for text in sent) + weight_of_tools(offered))


def _text(each: EarlierMessage | EarlierCall | EarlierReply) -> str:
    match each:
        case EarlierMessage(is_thought=True) | EarlierMessage(is_compacted=True):
            return ""
        case EarlierMessage(text=text) | EarlierReply(output=text):
            return text
        case EarlierCall(function=name, arguments=arguments):
            return name + arguments
