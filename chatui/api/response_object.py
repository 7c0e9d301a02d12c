"""The Response object, and its items and parts, with every key that the specification requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from chatui.api.errors import of_end
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
        **({"conversation": {"id": given["conversation"]}} if given.get("conversation") else {}),
        "instructions": given.get("instructions"),
        "output": list(output),
        "error": error_of(ended) if status == "failed" else None,
        "tools": given.get("tools", []),
        "tool_choice": given.get("tool_choice", "auto"),
        "truncation": given.get("truncation", "disabled"),
        "parallel_tool_calls": given.get("parallel_tool_calls", True),
        "text": given.get("text") or {"format": {"type": "text"}},
        "top_p": _or(given.get("top_p"), 1.0),
        "presence_penalty": _or(given.get("presence_penalty"), 0.0),
        "frequency_penalty": _or(given.get("frequency_penalty"), 0.0),
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


TOOL_CALL = "chatui:tool_call"
"""The type of the receipt of a call to one of the product's tools."""
_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "compaction": "cmp",
    TOOL_CALL: "tc",
}


def item_id(kind: str, key: str) -> str:
    return f"{_PREFIXES[kind]}_{key}"


def is_of(public_id: object, *kinds: str) -> bool:
    """Whether this is the public id of an item of one of these types."""
    return isinstance(public_id, str) and public_id.partition("_")[0] in {_PREFIXES[kind] for kind in kinds}


def key_of(public_id: object) -> UUID | None:
    """The key of the stored message in an item's public id; None if there is none."""
    try:
        return UUID(public_id.partition("_")[2]) if isinstance(public_id, str) else None
    except ValueError:
        return None


def item(kind: str, key: str, status: str = "completed", **fields: Any) -> Item:
    """An item of the input or the output. ``kind``: its type."""
    return {"id": item_id(kind, key), "type": kind, "status": status, **fields}


@dataclass(frozen=True, slots=True)
class PartType:
    """A kind of part that is streamed."""

    kind: str
    name: str
    """The name of the events with its text."""
    around: str = "response.content_part"
    """The name of the events that begin and end it."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """The fields beside its text."""

    def of(self, text: str) -> Item:
        """A part with this text."""
        return {"type": self.kind, "text": text, **self.fixed}


TEXT = PartType("output_text", "response.output_text", fixed={"annotations": [], "logprobs": []})
THOUGHT = PartType("reasoning_text", "response.reasoning_text")
"""Raw reasoning, in events with the names that clients know."""
THOUGHT_OF_SCHEMA = PartType("reasoning_text", "response.reasoning")
"""Raw reasoning, in events with the names of Open Responses' schema."""
SUMMARY = PartType("summary_text", "response.reasoning_summary_text", "response.reasoning_summary_part")
"""A line of a summary."""


def message_item(key: str, text: str, status: str, *, is_preamble: bool) -> Item:
    """A message of the model: the answer, or a preamble."""
    content = [TEXT.of(text)] if text or status != "in_progress" else []
    return item("message", key, status, role="assistant", phase="commentary" if is_preamble else "final_answer", content=content)


def reasoning_item(key: str, steps: Sequence[str], status: str, raw: str | None = None, sealed: str | None = None) -> Item:
    """A reasoning item with the lines of its summary.

    ``raw``: the reasoning, for a program that may read it; ``sealed``: an encrypted token in its place.
    """
    content = {} if raw is None else {"content": [THOUGHT.of(raw)]}
    encrypted = {} if sealed is None else {"encrypted_content": sealed}
    return item("reasoning", key, status, summary=[SUMMARY.of(step) for step in steps], **content, **encrypted)


def call_item(key: str, call: Called, status: str = "completed") -> Item:
    """The call as an item of a response. While in progress, it has no arguments yet."""
    arguments = call.arguments if status == "completed" else ""
    return item("function_call", key, status, call_id=call.call_id, name=call.name, arguments=arguments)


def tool_item(key: str, label: str, status: str) -> Item:
    """The receipt of a call to one of the product's tools. Neither its arguments nor its result are part of it: both are hidden text."""
    return item(TOOL_CALL, key, status, label=label)


def usage(ended: Ended | None) -> Item | None:
    """The server's token counts, hidden tokens included. Few servers count those alone, so that number is not given."""
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
    error = of_end(ended, "input")
    return {"code": error.code, "message": error.sentence}


def _reason(ended: Ended) -> str:
    if ended.state == "stopped":
        return "cancelled"
    known = _REASONS.get(ended.code) if isinstance(ended.code, ProductCode) else None
    return known or "max_output_tokens"


def _or(value: object, default: float) -> object:
    return default if value is None else value
