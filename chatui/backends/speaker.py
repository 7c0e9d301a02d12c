"""Decides from the labels in a server's message whose text it is: one table for all wire formats.

Only an assistant's text that no label calls something else may show.

A label is any field beside the text: of the event, the choice, the message, a part of it, an output item. One that is not known hides: a
server that begins to mark reasoning by a new name must not have it shown until somebody has looked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from renderer.frame_kinds import PEOPLE

_ALLOWED: dict[str, tuple[str, ...]] = {
    "role": ("assistant",),
    "channel": ("final",),
    "phase": ("final_answer",),
    "recipient": tuple(sorted(PEOPLE)),
    "type": ("message", "text", "output_text", "refusal"),
}
"""Labels that say who speaks, to whom, or what it is, with the values under which text is the answer. Absent says nothing."""

_OTHERS = ("author", "intent", "is_reasoning", "is_thinking", "is_thought", "name", "thought", "tool_call_id", "to")
"""Labels that mean something else by whatever value."""

HARMLESS: dict[str, str] = {
    **dict.fromkeys(("id", "index", "object", "created", "created_at", "model"), "names the answer, not its speaker"),
    **dict.fromkeys(("item_id", "output_index", "content_index", "sequence_number", "event_id"), "says where text belongs"),
    **dict.fromkeys(("content", "text", "delta", "message", "refusal"), "is the text itself, or holds it"),
    **dict.fromkeys(("reasoning", "reasoning_content", "reasoning_details", "thinking"), "is other text, which has its own place"),
    **dict.fromkeys(("tool_calls", "function_call"), "are calls, which are read by themselves and are never shown"),
    **dict.fromkeys(("finish_reason", "native_finish_reason", "stop_reason", "matched_stop", "status"), "says how the text ended"),
    **dict.fromkeys(("usage", "service_tier", "system_fingerprint", "obfuscation"), "is about the server"),
    **dict.fromkeys(("logprobs", "token_ids", "prompt_token_ids", "prompt_logprobs", "routed_experts"), "is text or prompt in numbers"),
    **dict.fromkeys(("annotations", "citations", "audio"), "stands beside the text, and is not shown"),
    **dict.fromkeys(("content_filter_results", "content_filter_result", "content_filter_offsets"), "is a filter's opinion of the text"),
}
"""Labels that say nothing of who speaks, whatever their value, each with why."""

_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Label:
    """What calls a text something else than the answer. ``is_known``: we know what it means; else it hides because we do not."""

    name: str
    is_known: bool


def other_label(data: Mapping[str, Any], *, besides: Collection[str] = ()) -> Label | None:
    """The first label of ``data`` that hides its text, None where there is none. ``besides``: labels that the caller looks at itself."""
    for name, value in data.items():
        if name in HARMLESS or name in besides or _is_empty(value):
            continue
        if name in _ALLOWED:
            if value not in _ALLOWED[name]:
                return Label(name, is_known=True)
            continue
        return Label(name, is_known=name in _OTHERS)
    return None


def label_of_envelope(data: Mapping[str, Any]) -> Label | None:
    """The same for what is around the choice, where servers put much of their own: only labels that are known hide."""
    said = {name: value for name, value in data.items() if name != "type" and (name in _ALLOWED or name in _OTHERS)}
    return other_label(said)


class Speaker:
    """Hears the labels of one Chat Completions stream. A role holds until another is said, and so do labels that come ahead of any text."""

    def __init__(self) -> None:
        self._role: object = None
        self._ahead: dict[str, Any] = {}

    def hear(self, message: Mapping[str, Any], *around: Mapping[str, Any], has_text: bool) -> Label | None:
        """The label that hides the text of ``message``. ``around``: the choice, then what it came in."""
        if not _is_empty(message.get("role")):
            self._role, self._ahead = message["role"], {}
        if not has_text:
            self._ahead |= {name: message[name] for name in (*_ALLOWED, *_OTHERS) if name != "role" and not _is_empty(message.get(name))}
        said = {**self._ahead, **{name: value for name, value in message.items() if not _is_empty(value)}, "role": self._role}
        choice, *envelope = around
        return other_label(said) or other_label(choice) or next(filter(None, map(label_of_envelope, envelope)), None)


def _is_empty(value: object, depth: int = 0) -> bool:
    """Whether a field says nothing. ``False`` says that something is not so."""
    if value is None or value is False or value == "":
        return True
    if depth > _DEEPEST:
        return False
    if isinstance(value, dict):
        return all(_is_empty(inner, depth + 1) for inner in value.values())
    return isinstance(value, list) and all(_is_empty(inner, depth + 1) for inner in value)
