"""The Response object and its items, with every key that the specification requires, and a function call in each format.

A call of a program's own function is sent as a whole, because its arguments were checked first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from chatui.codes import ProductCode
from chatui.turns.streams.program import Called, Ended

Item = dict[str, Any]

STATUSES = {
    "running": "in_progress",
    "completed": "completed",
    "incomplete": "incomplete",
    "stopped": "cancelled",
    "failed": "failed",
    "interrupted": "failed",
}
"""The specification's names for the states of a turn."""
_REASONS = {ProductCode.CONTENT_REFUSED: "content_filter"}


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The fields of a response that are known before it is written. ``given``: the settings of its request."""

    id: UUID
    model: str
    created_at: datetime
    given: Mapping[str, Any] = field(repr=False)


def response_id(key: UUID) -> str:
    """The public id of a response."""
    return f"resp_{key.hex}"


def response_object(head: ResponseHead, output: Sequence[Item], ended: Ended | None = None, finished_at: datetime | None = None) -> Item:
    """The response object. ``ended`` None: it is still being written."""
    state = ended.state if ended else "running"
    status, given = STATUSES.get(state, "failed"), head.given
    return {
        "id": response_id(head.id),
        "object": "response",
        "created_at": int(head.created_at.timestamp()),
        "completed_at": int(finished_at.timestamp()) if finished_at and status == "completed" else None,
        "status": status,
        "incomplete_details": {"reason": _reason(ended)} if ended and status in ("incomplete", "cancelled") else None,
        "model": head.model,
        "previous_response_id": given.get("previous_response_id"),
        "instructions": given.get("instructions"),
        "output": list(output),
        "error": error_of(ended) if status == "failed" else None,
        "tools": given.get("tools", []),
        "tool_choice": given.get("tool_choice", "auto"),
        "truncation": given.get("truncation", "disabled"),
        "parallel_tool_calls": given.get("parallel_tool_calls", True),
        "text": given.get("text") or {"format": {"type": "text"}},
        "top_p": _or(given.get("top_p"), 1.0),
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "top_logprobs": 0,
        "temperature": _or(given.get("temperature"), 1.0),
        "reasoning": given.get("reasoning", {"effort": None, "summary": None}),
        "usage": usage(ended),
        "max_output_tokens": given.get("max_output_tokens"),
        "max_tool_calls": given.get("max_tool_calls"),
        "store": given.get("store", True),
        "background": given.get("background", False),
        "service_tier": "default",
        "metadata": given.get("metadata", {}),
        "safety_identifier": None,
        "prompt_cache_key": None,
    }


def message_item(key: str, text: str, status: str, *, is_preamble: bool) -> Item:
    """A message of the model: the answer, or a preamble."""
    phase = "commentary" if is_preamble else "final_answer"
    content = [text_part(text)] if text or status != "in_progress" else []
    return {"id": f"msg_{key}", "type": "message", "status": status, "role": "assistant", "phase": phase, "content": content}


def text_part(text: str) -> Item:
    """The one kind of part that messages have."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def reasoning_item(key: str, steps: Sequence[str], status: str, raw: str | None = None, sealed: str | None = None) -> Item:
    """A reasoning item with the lines of its summary.

    ``raw``: the reasoning, for a program that may read it; ``sealed``: an encrypted token in its place.
    """
    item = {"id": f"rs_{key}", "type": "reasoning", "status": status, "summary": [summary_part(step) for step in steps]}
    if raw is not None:
        item["content"] = [reasoning_part(raw)]
    return item if sealed is None else item | {"encrypted_content": sealed}


def reasoning_part(text: str) -> Item:
    """Raw reasoning."""
    return {"type": "reasoning_text", "text": text}


def summary_part(text: str) -> Item:
    """A line of a summary."""
    return {"type": "summary_text", "text": text}


def usage(ended: Ended | None) -> Item | None:
    """The server's token counts. The number of hidden tokens is not revealed."""
    if ended is None or ended.input_tokens is None or ended.output_tokens is None:
        return None
    return {
        "input_tokens": ended.input_tokens,
        "output_tokens": ended.output_tokens,
        "total_tokens": ended.input_tokens + ended.output_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def error_of(ended: Ended | None) -> Item:
    """The error of a failed response."""
    code = (ended.code if ended else None) or ProductCode.INTERNAL
    return {"code": "server_error" if code is ProductCode.INTERNAL else "model_error", "message": f"{code.sentence} ({code.value})"}


def _reason(ended: Ended) -> str:
    if ended.state == "stopped":
        return "cancelled"
    known = _REASONS.get(ended.code) if isinstance(ended.code, ProductCode) else None
    return known or "max_output_tokens"


def _or(value: object, default: float) -> object:
    return default if value is None else value


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
