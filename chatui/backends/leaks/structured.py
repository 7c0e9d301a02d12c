"""Recognizes answers that are a server's own data: message parts or a call, written out as JSON or Python.

A server or a proxy that does not know a model's parts turns the whole list into text. It is judged once complete; everything but the
answer's text is hidden.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_KEYS = frozenset(
    (
        *(
            "reasoning",
            "reasoning_content",
            "reasoning_details",
            "reasoning_text",
            "thinking",
            "thought",
            "thoughts",
            "analysis",
            "rationale",
        ),
        *("chain_of_thought", "thought_process", "scratchpad", "inner_monologue", "internal_monologue", "tool_calls", "function_call"),
    )
)
_ANSWER_FIELDS = ("final", "final_answer", "answer", "response", "output", "content")
_HIDDEN: dict[str, tuple[str, ...]] = {
    "type": (
        *("reasoning", "thinking", "thought", "redacted_thinking", "reasoning_text", "reasoning_content", "summary_text"),
        *("function_call", "tool_call", "tool_use", "tool_result"),
    ),
    "channel": ("analysis", "commentary"),
    "phase": ("analysis", "commentary"),
    "role": ("tool", "function"),
}
"""Labels, and the values that mean that a part is not the answer's text."""
_NUMBERED = frozenset(("id", "call_id", "index"))
_CALLS = (frozenset(("name", "arguments")), frozenset(("name", "parameters")))
"""The keys of a call. Servers also number calls with arguments, say that they are of the type ``function``, and put them into a key of
that name. A tool's definition has parameters there, and a description, and may be an honest answer."""
_BEGUN = re.compile(r"\s*(?:\[\s*)?(?:\{\s*)?\Z")
_BEGINS = re.compile(r"\s*(?:\[\s*)?\{\s*[\"']")
_SIGN = re.compile(
    "|".join(
        (
            rf"[\"'](?:{'|'.join(sorted(_KEYS)).replace('_', '[_ -]')})[\"']\s*:",
            *(rf"[\"']{name}[\"']\s*:\s*[\"'](?:{'|'.join(values)})[\"']" for name, values in _HIDDEN.items()),
            r"[\"']name[\"']\s*:\s*[\"'][^\"']*[\"']\s*,\s*[\"'](?:arguments|parameters)[\"']",
        )
    ),
    re.IGNORECASE,
)
_MAY_BE_CALL = re.compile(r"[\"'](?:arguments|parameters)[\"']\s*:")
_CUT_CALL = re.compile(r"\s*(?:\[\s*)?\{\s*[\"']arguments[\"']\s*:")
"""Keys that show nothing by themselves, unless an answer that begins with arguments cannot be parsed: as if it is cut."""
_MAX_UNDECIDED = 80
_MAX_CHARS = 1 << 20
_MAX_MARKS = 16_000
"""The most marks in data that is read as Python, which takes twenty times as long as JSON: up to 40 ms, in which nothing else runs."""
_MARKS = ",:[{(+-\"'"
_MAX_LINES_CHARS = 1 << 18
_BETWEEN = re.compile(r"[\s,;]*")
_DECODER = json.JSONDecoder()


def begins(beginning: str) -> bool | None:
    """Whether an answer begins as data. None if more text is needed."""
    if _BEGINS.match(beginning):
        return True
    return None if beginning.strip() and len(beginning) < _MAX_UNDECIDED and _BEGUN.fullmatch(beginning) else False


def visible_of(text: str) -> str | None:
    """The visible part of complete data; None if it is ordinary text, so that all of it is visible."""
    is_signed = bool(_SIGN.search(text) or _CUT_CALL.match(text))
    if not is_signed and not _MAY_BE_CALL.search(text):
        return None
    value = _read(text)
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        return _of_parts(value)
    if isinstance(value, dict):
        return _of_object(value)
    # It is something else, cannot be parsed, or is several values.
    return "" if is_signed or any(map(_has_call, _lines(text) if value is None else (value,))) else None


def _read(text: str) -> object:
    if len(text) > _MAX_CHARS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if sum(map(text.count, _MARKS)) > _MAX_MARKS:
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _lines(text: str) -> Iterator[object]:
    """The values of several with nothing but white space, commas or semicolons between, up to the first that is not JSON."""
    at = 0
    while len(text) <= _MAX_LINES_CHARS and (between := _BETWEEN.match(text, at)):
        try:
            value, at = _DECODER.raw_decode(text, between.end())
        except (ValueError, RecursionError):
            return
        yield value


def _of_parts(parts: list[Mapping[str, Any]]) -> str | None:
    if not any(_is_hidden(part) for part in parts):
        return None
    shown = (part.get("text") for part in parts if not _is_hidden(part) and part.get("type") in ("text", "output_text"))
    return "".join(text for text in shown if isinstance(text, str))


def _of_object(value: Mapping[str, Any]) -> str | None:
    if _labelled(value) or _is_call(value):
        return ""
    if not any(_folded(name) in _KEYS for name in value):
        return None
    answers = (value[name] for known in _ANSWER_FIELDS for name in value if _folded(name) == known)
    return next((answer for answer in answers if isinstance(answer, str)), "")


def _is_hidden(part: Mapping[str, Any]) -> bool:
    return _labelled(part) or part.get("thought") is True or _is_call(part)


def _is_call(value: Mapping[str, Any]) -> bool:
    keys = frozenset(value)
    if value.get("type") == "function":
        keys -= {"type"}
        called = value.get("function")
        if isinstance(called, dict):
            return keys - _NUMBERED == {"function"} and frozenset(called) == {"name", "arguments"}
    return keys in _CALLS or ("arguments" in keys and keys - _NUMBERED in _CALLS)


def _has_call(value: object) -> bool:
    return any(isinstance(each, dict) and _is_call(each) for each in (value if isinstance(value, list | tuple) else (value,)))


def _labelled(value: Mapping[str, Any]) -> bool:
    return any(str(value.get(name)).lower() in hidden for name, hidden in _HIDDEN.items())


def _folded(name: object) -> str:
    return str(name).lower().replace(" ", "_").replace("-", "_")
