"""Names what changes nothing, or is cut, inside of the fields of a request: in its messages and items, in tools, and in objects.

The types of the fields are not checked yet, so anything may stand anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from chatui.api.parsed_messages import NOTE_CHARS
from chatui.api.request_parts import NOTHING, safe_name
from chatui.tools.functions import PROGRAM_DESCRIPTION_CHARS

_FUNCTION = frozenset({"type", "name", "description", "parameters", "strict"})
_MESSAGE = frozenset({"role", "content", "tool_calls", "tool_call_id", "reasoning", "reasoning_content", "function_call"})
_PART = frozenset({"type", "text", "refusal", "image_url", "file_id", "detail", "annotations"})
_CALL = frozenset({"type", "id", "call_id", "status"})
_ITEMS: Mapping[str, frozenset[str]] = {
    "message": frozenset({"type", "id", "role", "content", "phase", "status"}),
    "function_call": _CALL | {"name", "arguments"},
    "function_call_output": _CALL | {"output"},
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content", "status"}),
}
"""The fields that mean something in each type of item."""


def objects_in(found: object) -> Iterator[Mapping[str, Any]]:
    """The objects in a list, if it is one."""
    yield from (each for each in found if isinstance(each, Mapping)) if isinstance(found, list) else ()


def unknown(found: object, known: Collection[str], prefix: str = "") -> Iterator[str]:
    """The fields of an object that ask for something and are not ``known``."""
    if isinstance(found, Mapping):
        yield from (f"{prefix}{safe_name(name)}" for name, value in found.items() if name not in known and value not in NOTHING)


def in_tools(tools: object, *, are_nested: bool) -> Iterator[str]:
    """Tools of other types, which are left out, and of functions what is. ``are_nested``: each is described in an object of its own."""
    for tool in objects_in(tools):
        kind = tool.get("type")
        if kind != "function":
            yield f"tools.{safe_name(kind)}"
            continue
        function = tool.get("function") if are_nested else tool
        yield from unknown(tool, ("type", "function") if are_nested else _FUNCTION, "tools.")
        if isinstance(function, Mapping):
            yield from unknown(function, _FUNCTION, "tools.") if are_nested else ()
            yield from cut_description(function)


def cut_description(function: Mapping[str, Any]) -> Iterator[str]:
    """The description of a function, if a model reads only its beginning."""
    description = function.get("description")
    if isinstance(description, str) and len(description) > PROGRAM_DESCRIPTION_CHARS:
        yield "tools.description"


def cut_note(item: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """The type of an item that becomes a note, if a model reads only the beginning of it."""
    if len(json.dumps(item, ensure_ascii=False)) > NOTE_CHARS:
        yield f"{prefix}{safe_name(item.get('type'))}"


def in_messages(messages: object) -> Iterator[str]:
    """Of messages as Chat Completions has them."""
    for message in objects_in(messages):
        yield from unknown(message, _MESSAGE, "messages.")
        yield from _in_parts(message.get("content"), "messages.content.")


def in_items(items: object, field: str = "input") -> Iterator[str]:
    """Of items as Responses has them, in this field."""
    for item in objects_in(items):
        kind = item.get("type", "message" if "role" in item else None)
        if isinstance(kind, str) and kind in _ITEMS:
            yield from unknown(item, _ITEMS[kind], f"{field}.")
            yield from _in_parts(item.get("content") if kind == "message" else item.get("output"), f"{field}.content.")
        elif isinstance(kind, str) and ":" not in kind and kind not in ("item_reference", "compaction"):
            yield from cut_note(item, f"{field}.")


def _in_parts(content: object, prefix: str) -> Iterator[str]:
    for part in objects_in(content):
        yield from unknown(part, _PART, prefix)
