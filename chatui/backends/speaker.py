"""Decides who wrote a server's message, from its labels, and escapes control markers in the text that is sent to it.

Only an assistant's text without any label to the contrary may be shown: one table for all wire formats. A label is any field beside the
text: of the event, the choice, the message, a part of it, an output item. An unknown label hides: if a server begins to mark reasoning with
a new name, it must stay hidden until somebody has checked the name.

Servers that build their prompts from text interpret markers anywhere in the prompt: ``<|end|>`` in a question would end it. In the copy
that is sent, an invisible word joiner is put between ``<`` and ``|`` in text from people and tools; it is removed again from the answer.
"""

from __future__ import annotations

import re
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
    "status": ("completed", "in_progress", "incomplete", "queued", "failed", "cancelled", "done", "finished", "success", "ok"),
}
"""Labels for the speaker, the recipient or the kind of text, with the values that mean that text is the answer.

A missing label means nothing.
"""

_OTHERS = ("author", "intent", "is_reasoning", "is_thinking", "is_thought", "name", "thought", "tool_call_id", "to")
"""Labels that mean something else, whatever their value."""

HARMLESS: dict[str, str] = {
    **dict.fromkeys(("id", "index", "object", "created", "created_at", "model"), "names the answer, not its speaker"),
    **dict.fromkeys(("item_id", "output_index", "content_index", "sequence_number", "event_id"), "says where text belongs"),
    **dict.fromkeys(("content", "text", "delta", "message", "refusal"), "is the text itself, or holds it"),
    **dict.fromkeys(("reasoning", "reasoning_content", "reasoning_details", "thinking"), "is other text, which has its own place"),
    **dict.fromkeys(("tool_calls", "function_call"), "are calls, which are read by themselves and are never shown"),
    **dict.fromkeys(("finish_reason", "native_finish_reason", "stop_reason", "matched_stop", "error"), "says how the text ended"),
    **dict.fromkeys(("usage", "service_tier", "system_fingerprint", "obfuscation"), "is about the server"),
    **dict.fromkeys(("logprobs", "token_ids", "prompt_token_ids", "prompt_logprobs", "routed_experts"), "is text or prompt in numbers"),
    **dict.fromkeys(("annotations", "citations", "audio"), "stands beside the text, and is not shown"),
    **dict.fromkeys(("content_filter_results", "content_filter_result", "content_filter_offsets"), "is a filter's opinion of the text"),
}
"""Labels that say nothing about the speaker, whatever their value, each with the reason."""

_NO_LABELS = ("choices", "usage")
"""Fields of the envelope whose content is checked separately, or is about the server."""
_SAME_WHERE_EQUAL = (str, int, type(None))
_CALLS = ("tool_calls", "function_call", "refusal")
_DEEPEST = 8
_OF_REASONING = re.compile(r"think|thought|reason|analysis|commentary|scratch|hidden|internal|private", re.IGNORECASE)
_WORD_OF_REASONING = re.compile(rf"[\w.-]{{0,20}}(?:{_OF_REASONING.pattern})[\w.-]{{0,20}}", re.IGNORECASE)
_MAX_WORD_CHARS = 20 + max(map(len, _OF_REASONING.pattern.split("|"))) + 20
_KINDS_OF_REASONING = re.compile(r"(?:response\.)?(?:reasoning|thinking|thought)\w*(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpeakerLabel:
    """A label that says that text is not the answer. ``is_known``: its meaning is known; an unknown label hides, too."""

    name: str
    is_known: bool


def other_label(data: Mapping[str, Any], *, besides: Collection[str] = ()) -> SpeakerLabel | None:
    """The first label of ``data`` that hides its text, None if there is none. ``besides``: labels that the caller checks itself."""
    for name, value in data.items():
        if name in HARMLESS or name in besides or _is_empty(value):
            continue
        if name in _ALLOWED:
            if value not in _ALLOWED[name]:
                return SpeakerLabel(name, is_known=True)
            continue
        return SpeakerLabel(name, is_known=name in _OTHERS)
    return None


def label_of_envelope(data: Mapping[str, Any]) -> SpeakerLabel | None:
    """The same for the objects around the choice, where servers put much of their own: only known labels hide, and those whose name or
    value mentions reasoning.
    """
    return _label_about_reasoning(data, besides=("status", *_NO_LABELS), depth=_DEEPEST)


def _label_about_reasoning(data: Mapping[str, Any], *, besides: Collection[str] = (), depth: int = 0) -> SpeakerLabel | None:
    """A label that hides by its meaning: it is known, or its name or value mentions reasoning.

    Any other ``type`` may be that of an event.
    """
    if isinstance(data.get("type"), str) and _KINDS_OF_REASONING.fullmatch(data["type"]):
        return SpeakerLabel("type", is_known=True)
    labels = {
        name: value for name, value in data.items() if name in _ALLOWED or name in _OTHERS or _speaks_of_reasoning(name, value, depth)
    }
    return other_label(labels, besides=("type", *besides))


def _speaks_of_reasoning(name: object, value: object, depth: int = 0) -> bool:
    """``thought: true`` and ``segment: "thinking"`` do. A field with a longer text is not a label, whatever its name."""
    if _is_empty(value) or depth > _DEEPEST:
        return False
    if isinstance(name, str) and isinstance(value, (bool, int)) and _OF_REASONING.search(name):
        return True
    match value:
        case str():
            # The length is checked first, for speed: most values are the text itself, and this runs for each piece.
            return len(value) <= _MAX_WORD_CHARS and bool(_WORD_OF_REASONING.fullmatch(value))
        case dict():
            return any(_speaks_of_reasoning(inner, inner_value, depth + 1) for inner, inner_value in value.items())
        case list():
            return any(_speaks_of_reasoning("", inner_value, depth + 1) for inner_value in value)
    return False


class Speaker:
    """Tracks the labels of one Chat Completions stream. A role applies until the next one; so do labels that arrive before any text."""

    def __init__(self) -> None:
        self._role: object = None
        self._ahead: dict[str, Any] = {}
        self._has_text = False
        self._late: SpeakerLabel | None = None
        self._harmless: list[tuple[str, type, Any]] = []

    def label_of(self, message: Mapping[str, Any], *around: Mapping[str, Any], has_text: bool) -> SpeakerLabel | None:
        """The label that hides the text of ``message``. ``around``: the choice, then the objects that contain it."""
        is_first_role = self._role is None and self._has_text
        if not _is_empty(message.get("role")):
            self._role, self._ahead = message["role"], {}
        choice, *envelopes = around
        if not has_text:
            self._take_label(message, choice, is_first_role=is_first_role)
        else:
            self._has_text, self._late = True, None
        fields = {**self._ahead, **{name: value for name, value in message.items() if not _is_empty(value)}, "role": self._role}
        label = other_label(fields) or other_label(choice)
        for envelope in envelopes:
            label = label or self._label_of_envelope(envelope)
        return label

    def _label_of_envelope(self, envelope: Mapping[str, Any]) -> SpeakerLabel | None:
        """As ``label_of_envelope``. Servers repeat the same envelope with every piece of an answer, so it is checked once."""
        labels = [(name, type(value), value) for name, value in envelope.items() if name not in _NO_LABELS]
        if labels == self._harmless:
            return None
        label = label_of_envelope(envelope)
        # Only values of these types are identical if equal: 0 equals False, and a list may contain either.
        if label is None and all(kind in _SAME_WHERE_EQUAL for _, kind, _ in labels):
            self._harmless = labels
        return label

    def late_label(self) -> SpeakerLabel | None:
        """At the end: the label that arrived after all text, and therefore applies to it."""
        return self._late

    def _take_label(self, message: Mapping[str, Any], choice: Mapping[str, Any], *, is_first_role: bool) -> None:
        """Record a label that came without text: it applies to the text after it, or, if there is none, to the text before."""
        labels = {name: value for name, value in message.items() if name != "role" and not _is_empty(value)}
        self._ahead |= {name: value for name, value in labels.items() if _label_about_reasoning({name: value})}
        if not self._has_text or not labels.keys().isdisjoint(_CALLS):
            return
        role = other_label({"role": self._role}) if is_first_role else None
        late = role or _label_about_reasoning(labels) or _label_about_reasoning(choice, besides=("delta", "message"))
        self._late = late or self._late


def _is_empty(value: object, depth: int = 0) -> bool:
    """Whether a field is empty. ``False`` counts as empty."""
    if value is None or value is False or value == "":
        return True
    if depth > _DEEPEST:
        return False
    if isinstance(value, dict):
        return all(_is_empty(inner, depth + 1) for inner in value.values())
    return isinstance(value, list) and all(_is_empty(inner, depth + 1) for inner in value)


_JOINER = "\u2060"
_MARKER = re.compile(r"<(?=\|[A-Za-z0-9_]{1,40}\|>)")


def defang(text: str) -> str:
    """``text`` with every control marker escaped, known or not."""
    return _MARKER.sub(f"<{_JOINER}", text)


class Restorer:
    """Removes the joiner from streamed text, also if a piece ends inside an escaped marker. Buffers at most two characters."""

    def __init__(self) -> None:
        self._buffer = ""

    def feed(self, text: str) -> str:
        """More text; returns what can be released now."""
        text = (self._buffer + text).replace(f"<{_JOINER}|", "<|")
        keep = 2 if text.endswith(f"<{_JOINER}") else 1 if text.endswith("<") else 0
        self._buffer = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """Return the text that is still buffered."""
        text, self._buffer = self._buffer, ""
        return text


def is_defanged(messages: object) -> bool:
    """Whether anything in a request's messages was escaped, so that echoes must be restored."""
    match messages:
        case str():
            return f"<{_JOINER}|" in messages
        case list():
            return any(map(is_defanged, messages))
        case dict():
            return any(map(is_defanged, messages.values()))
    return False
