"""Makes the demo call a program's function, with made-up arguments that fit its schema, and answer with the result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from chatui.backends.base import SampleRequest
from renderer.frames import Frame, Role
from renderer.harmony.system_messages import FunctionTool

SCRIPTED = frozenset({"get_current_weather", "keep_note"})
"""The tools that the demo's own scripts call."""
_NAME_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_MAX_DEPTH = 4
_REPLY_CHARS = 500


def script(request: SampleRequest, place: str) -> str | None:
    """The demo's next output: a call, or an answer made of the replies; None if no function fits.

    ``place``: a city, if one is named. A function fits if a word of its name is in the question, or if a call is required.
    """
    functions = [tool for tool in request.tools if tool.name not in SCRIPTED and tool.recipient is None]
    frames = _since_question(request.frames)
    replies = [frame for frame in frames[1:] if frame.header.role == Role.TOOL and _name(frame) not in SCRIPTED]
    if replies and not request.must_call:
        return _answer(replies)
    question = frames[0].body if frames else ""
    fitting = [tool for tool in functions if _fits(tool.name, question)]
    chosen = fitting or (functions if request.must_call else [])
    return _call(chosen[0], place, question) if chosen else None


def _since_question(frames: Sequence[Frame]) -> Sequence[Frame]:
    last = max((place for place, frame in enumerate(frames) if frame.header.role == Role.USER), default=0)
    return frames[last:]


def _name(reply: Frame) -> str:
    return (reply.header.name or "").removeprefix("functions.")


def _fits(name: str, question: str) -> bool:
    return any(word.lower() in question.lower() for word in _NAME_WORD.findall(name) if word not in ("get", "set", "the", "and"))


def _call(tool: FunctionTool, place: str, question: str) -> str:
    made = json.dumps(_argument(dict(tool.parameters or {}), "", (place, question[:80]), 0), ensure_ascii=False)
    return (
        "<|channel|>analysis<|message|>The program offers a function for this. I call it; I should not guess.<|end|>\n"
        f"<|start|>assistant<|channel|>commentary to=functions.{tool.name} <|constrain|>json<|message|>{_escaped(made)}<|call|>"
    )


def _answer(replies: Sequence[Frame]) -> str:
    lines = "\n".join(f"`{_name(frame)}` replied: {_escaped(frame.body)[:_REPLY_CHARS]}" for frame in replies)
    return (
        "<|channel|>analysis<|message|>The function has replied. I say what it said, and where that comes from.<|end|>\n"
        f"<|start|>assistant<|channel|>final<|message|>{lines}\n\n*(This is a scripted demo: no model has read the reply.)*<|return|>"
    )


def _argument(schema: Mapping[str, Any], name: str, words: tuple[str, str], depth: int) -> Any:
    """A value that fits a schema, as far as the demo understands it: required properties only, and the first of each choice."""
    if schema.get("enum"):
        return schema["enum"][0]
    variants = schema.get("anyOf")
    if isinstance(variants, list) and variants:
        return _argument(variants[0], name, words, depth)
    match schema.get("type"):
        case "object" | None if depth == 0 or "properties" in schema:
            return _object(schema, words, depth)
        case "array":
            fill = range(int(schema.get("minItems", 0)) if depth < _MAX_DEPTH else 0)
            return [_argument(schema.get("items") or {}, name, words, depth + 1) for _ in fill]
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return True
    return words[0] if re.search("city|location|place|town", name, re.IGNORECASE) else words[1]


def _object(schema: Mapping[str, Any], words: tuple[str, str], depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    needed = [name for name in schema.get("required") or () if name in properties and depth < _MAX_DEPTH]
    return {name: _argument(properties[name], name, words, depth + 1) for name in needed}


def _escaped(text: str) -> str:
    """Without anything that would be parsed as part of a script."""
    return text.replace("<|", "< |")
