"""The tag and token names that mark raw output: around reasoning, around tool calls, around the answer."""

from __future__ import annotations

import re

HARMONY = ("start", "end", "message", "channel", "constrain", "return", "call")
TAGS = (
    *("think", "thinking", "thinks", "thought", "thoughts", "reasoning", "reason", "analysis", "scratchpad", "reflection"),
    *(
        "internal",
        "reflect",
        "rationale",
        "deliberation",
        "commentary",
        "internal_thoughts",
        "antthinking",
        "start_of_thinking",
        "unused94",
    ),
)
"""Tags around reasoning, as many models write them, besides those whose names contain such a word."""
_ENDINGS = {"end_of_thinking": "start_of_thinking", "unused95": "unused94"}
_OF_REASONING = re.compile(
    r"(?:.*[_:.|-])?(?:think|thinking|thoughts?|reasoning|reflection|monologue|scratchpad|cot)(?:[_:.|-].*)?", re.IGNORECASE
)
_OF_TOOLS = re.compile(
    r"(?:\w+[_:|])?(?:tool_?calls?|tool_responses?|tool_results?|function_calls?|function_results?)|function=.+|(?:\w+:)?invoke"
)
_TOKEN = re.compile(r"(?:start|end)_of_turn|special_\d+|unused\d+")

BRACKETED = ("think", "thinking", "thought", "reasoning", "reason", "analysis")
_BRACKETED_SMALL = ("think", "thinking", "thought", "reasoning")
BRACKETED_TOKENS = ("tool_calls", "tool_results", "tool_content", "available_tools", "inst", "system_prompt")
BRACKETED_ALONE = {"unused16": "OPENING", "unused17": "CLOSING", "begin final response": "ANSWER", "end final response": "WRAPPER"}
BRACKET_PREFIXES = frozenset(
    name[:length] for name in (*BRACKETED, *BRACKETED_TOKENS, *BRACKETED_ALONE) for length in range(1, len(name) + 1)
)

_AROUND_ANSWER = re.compile(r"(?:start|end|begin|begin_of|end_of)_(?:response|text|solution|answer)")
_BEGINS_ANSWER = re.compile(
    r"(?:start|begin|begin_of)_(?:response|solution|answer)|start_text|content(?:_text)?|(?:assistant_)?final|response|solution"
)
_ABOUT_REASONING = re.compile(r"think|thought|reasoning|scratchpad|analysis|inner_(?:prefix|suffix)")
_IS_END = re.compile(r"/|(?:.*[_:.])?(?:end|close|stop|suffix)(?:[_:.].*)?\Z")
_BEGIN_OR_END = re.compile(r"(?<![a-z])(?:begin|start|open|end|stop|close|of|prefix|suffix)(?![a-z])|[/_:.]")


def tag_of_reasoning(name: str) -> str | None:
    """The name of the opening tag, if ``name`` is a tag around reasoning or a call; else None."""
    name = _ENDINGS.get(name, name)
    if name in TAGS or _OF_REASONING.fullmatch(name):
        return name
    return _without_value(name) if _OF_TOOLS.fullmatch(name) or name == "function" else None


def is_closing_tag(name: str) -> bool:
    """Whether a tag of that name closes another one, without a slash."""
    return name in _ENDINGS


def may_have_attributes(name: str) -> bool:
    """Whether tags of that name are signs, so that attributes after the name must be parsed."""
    return name == "details" or tag_of_reasoning(name) is not None


def is_token(name: str) -> bool:
    """Whether it is a special token in the form of a tag."""
    return bool(_TOKEN.fullmatch(name)) and name not in TAGS and name not in _ENDINGS


def may_be_token(name: str) -> bool:
    """Whether a token of that name has an effect, so that a bar after the name must be awaited."""
    return begins_answer(name) or surrounds_answer(name) or bool(token_of_reasoning(name))


def begins_answer(name: str) -> bool:
    """Whether a token of that name begins the answer."""
    return bool(_BEGINS_ANSWER.fullmatch(name))


def surrounds_answer(name: str) -> bool:
    """Whether a token of that name surrounds the answer."""
    return bool(_AROUND_ANSWER.fullmatch(name))


def token_of_reasoning(name: str) -> str:
    """The part of the name that opening and closing tokens share; empty if it is not a token around reasoning."""
    return _BEGIN_OR_END.sub("", name) if _ABOUT_REASONING.search(name) else ""


def is_end_name(name: str) -> bool:
    """Whether a token around reasoning is the closing one."""
    return bool(_IS_END.match(name))


def is_bracketed(name: str) -> bool:
    """Whether a name in square brackets is a sign: in capitals, or in lower case if it is hardly used otherwise."""
    if name.isupper():
        return name.lower() in BRACKETED or name.lower() in BRACKETED_TOKENS
    return name.lower() in _BRACKETED_SMALL


def _without_value(name: str) -> str:
    return name.partition("=")[0]
