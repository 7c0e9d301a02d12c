"""Writes a call of a program's own function in each format. A call is sent as a whole, because its arguments were checked first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatui.turns.streams.program import Called

Item = dict[str, Any]


def call_item(key: str, call: Called, status: str = "completed") -> Item:
    """The call as an item of a response. While in progress, it has no arguments yet."""
    arguments = call.arguments if status == "completed" else ""
    return {
        "id": f"fc_{key}",
        "type": "function_call",
        "status": status,
        "call_id": call.call_id,
        "name": call.name,
        "arguments": arguments,
    }


def output_item(key: str, call_id: str, output: str) -> Item:
    """A function's output, as an item of the input."""
    return {"id": f"fco_{key}", "type": "function_call_output", "status": "completed", "call_id": call_id, "output": output}


def call_events(key: str, index: int, call: Called) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events between the beginning and the end of the item: their types and fields."""
    place = {"item_id": f"fc_{key}", "output_index": index}
    yield "response.function_call_arguments.delta", place | {"delta": call.arguments}
    yield "response.function_call_arguments.done", place | {"arguments": call.arguments}


def tool_call(call: Called) -> dict[str, Any]:
    """The call as in a message of Chat Completions."""
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
