"""Decides who wrote a server's message, from its labels, and escapes control markers in the text that is sent to it.

Only an assistant's text without any label to the contrary may be shown: one function for all wire formats and for imports. A label is any
field beside the text: of the event, the choice, the message, a part of it, an output item. Its value decides, not its name: a boolean or a
short word that speaks of reasoning. A field with a text of several words is a place of its own, and labels nothing.

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
"""Labels that mean something else, whatever their value, unless it is a text."""

_FIXED: dict[str, str] = {
    **dict.fromkeys(("id", "index", "created", "created_at", "model"), "names the answer, not its speaker"),
    **dict.fromkeys(("item_id", "output_index", "content_index", "sequence_number", "event_id"), "says where text belongs"),
    **dict.fromkeys(("content", "text", "delta", "message", "refusal", "choices"), "is the text itself, or holds it"),
    **dict.fromkeys(("tool_calls", "function_call"), "are calls, which are read by themselves and are never shown"),
    **dict.fromkeys(("finish_reason", "native_finish_reason", "stop_reason", "matched_stop", "error"), "says how the text ended"),
    **dict.fromkeys(("usage", "service_tier", "system_fingerprint", "obfuscation"), "is about the server"),
    **dict.fromkeys(("logprobs", "token_ids", "prompt_token_ids", "prompt_logprobs"), "is text or prompt in numbers"),
}
"""Fields whose meaning the wire format fixes, each with the reason why it is no label."""
_NO_LABELS = frozenset(_FIXED)
REPEATS: dict[str, str] = {
    "__verbose": "llama.cpp with --verbose: the request's prompt and settings, and the text once more",
    "generation_settings": "llama.cpp: the settings of the request, such as thinking_forced_open and reasoning_in_content",
    "chat_template_kwargs": "llama.cpp, vLLM and SGLang: what the request gave the template, such as enable_thinking",
    "metadata": "Responses and Chat Completions: the pairs that a program gave its own request",
    "echo_upstream_body": "OpenRouter: the body that it sent on, if the request's debug asks for it",
    **dict.fromkeys(("enable_thinking", "thinking_forced_open"), "says whether the model was to think, not whose text this is"),
    **dict.fromkeys(("include_reasoning", "separate_reasoning", "stream_reasoning"), "says whether and how reasoning was to be sent"),
    "reasoning_in_content": "says where llama.cpp was to send reasoning",
}
"""Names around a live answer under which servers repeat the request, each with its reason.

A boolean in them was asked for and labels nothing. A word still does. In a message, a part of it or an import they are like any other name.
"""
REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_details", "thinking")
"""The fields of Chat Completions for reasoning. A server sends one of these, or the same text in two of them: the first with text counts.
Only a boolean in them is a label: a piece of a thought may be any word."""
REASONING_TEXTS = tuple(name for name in REASONING_FIELDS if name != "reasoning_details")
"""Those whose value is plain text. ``reasoning_details`` is a list of parts."""
_CALLS = ("tool_calls", "function_call", "refusal")
_DEEPEST = 8
_OF_REASONING = re.compile(r"think|thought|reason|analysis|commentary|scratch|hidden|internal|private", re.IGNORECASE)
_WORD_OF_REASONING = re.compile(rf"[\w.-]{{0,20}}(?:{_OF_REASONING.pattern})[\w.-]{{0,20}}", re.IGNORECASE)
_MAX_WORD_CHARS = 20 + max(map(len, _OF_REASONING.pattern.split("|"))) + 20
_MEANS_VISIBLE = re.compile(r"(?:is_?)?(?:visible|show|shown|display|displayed|public|final)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpeakerLabel:
    """A label that says that text is not the answer. ``is_known``: its meaning is known; any other that speaks of reasoning hides, too."""

    name: str
    is_known: bool


def other_label(data: Mapping[str, Any], *, besides: Collection[str] = (), repeats: Collection[str] = ()) -> SpeakerLabel | None:
    """The first label of ``data`` that hides its text, None if there is none.

    ``besides``: labels that the caller checks itself. ``repeats``: ``REPEATS``, if ``data`` is around the text of a live answer.
    """
    for name, value in data.items():
        # The first names are looked up here, too: this runs for each piece.
        if name not in _FIXED and name not in besides and (label := _label_of(name, value, repeats)):
            return label
    return None


def label_of_envelope(data: Mapping[str, Any]) -> SpeakerLabel | None:
    """The same for the objects around the choice, whose ``type`` and ``status`` may be any word that does not speak of reasoning."""
    for name in ("type", "status"):
        if name in data and _speaks_of_reasoning(name, data[name]):
            return SpeakerLabel(name, is_known=True)
    return other_label(data, besides=("type", "status"), repeats=REPEATS)


def _label_of(name: str, value: object, repeats: Collection[str] = ()) -> SpeakerLabel | None:
    if name in _FIXED or value is None or value == "":
        return None
    if name in _ALLOWED:
        return None if value in _ALLOWED[name] else SpeakerLabel(name, is_known=True)
    if name in REASONING_FIELDS:
        return SpeakerLabel(name, is_known=True) if value is True else None
    if type(value) is str and len(value) <= _MAX_WORD_CHARS and name not in _OTHERS and not _OF_REASONING.search(value):
        return None  # as of most chunks: the rest need not be asked
    if _has_words(value):
        return None
    if name in _OTHERS and not _is_empty(value):
        return SpeakerLabel(name, is_known=True)
    return SpeakerLabel(name, is_known=False) if _speaks_of_reasoning(name, value, repeats) else None


def _speaks_of_reasoning(name: str, value: object, repeats: Collection[str] = (), depth: int = 0, *, is_repeated: bool = False) -> bool:
    """``is_thought: true``, ``visible: false`` and ``segment: "thinking"`` do; so does what is too deep to be read."""
    if depth > _DEEPEST:
        return True
    is_repeated = is_repeated or name in repeats
    match value:
        case bool():
            if is_repeated:
                return False
            means = _OF_REASONING.search if value else _MEANS_VISIBLE.fullmatch
            return bool(means(name))
        case str():
            # The length is checked first, for speed: most values are the text itself, and this runs for each piece.
            return len(value) <= _MAX_WORD_CHARS and bool(_WORD_OF_REASONING.fullmatch(value))
        case dict():
            inner = ((name, inner_value) for name, inner_value in value.items() if name not in _FIXED)
        case list():
            inner = (("", inner_value) for inner_value in value)
        case _:
            return False
    return any(_speaks_of_reasoning(at, found, repeats, depth + 1, is_repeated=is_repeated) for at, found in inner)


def _has_words(value: object, depth: int = 0) -> bool:
    """Whether it holds a text of several words, or a piece of one."""
    match value:
        case str():
            return value != value.strip() or len(value.split()) > 1
        case dict():
            return depth <= _DEEPEST and any(_has_words(inner, depth + 1) for inner in value.values())
        case list():
            return depth <= _DEEPEST and any(_has_words(inner, depth + 1) for inner in value)
    return False


class Speaker:
    """Tracks the labels of one Chat Completions stream. A role applies until the next one; so do labels that arrive before any text."""

    def __init__(self) -> None:
        self._role: object = None
        self._ahead: dict[str, Any] = {}
        self._places: set[str] = set()
        """Fields that held text of several words once: their pieces are no labels."""
        self._has_text = False
        self._late: SpeakerLabel | None = None

    def label_of(self, message: Mapping[str, Any], *around: Mapping[str, Any], has_text: bool) -> SpeakerLabel | None:
        """The label that hides the text of ``message``. ``around``: the choice, then the objects that contain it."""
        is_first_role = self._role is None and self._has_text
        if not _is_empty(message.get("role")):
            self._role, self._ahead = message["role"], {}
        choice, *envelopes = around
        own: dict[str, Any] = {}
        if not _NO_LABELS.issuperset(message):
            others = {name: value for name, value in message.items() if name not in _FIXED and name not in _ALLOWED}
            self._places |= {name for name, value in others.items() if isinstance(value, str) and _has_words(value)}
            self._ahead = {name: value for name, value in self._ahead.items() if name not in self._places}
            own = {name: value for name, value in message.items() if value not in (None, "") and name not in self._places}
        of_envelopes = None
        for envelope in envelopes:
            of_envelopes = of_envelopes or label_of_envelope(envelope)
        if not has_text:
            self._take_label(message, choice, of_envelopes, is_first_role=is_first_role)
        else:
            self._has_text, self._late = True, None
        of_message = other_label({**self._ahead, **own, "role": self._role}) if self._ahead or own else _label_of("role", self._role)
        return of_message or other_label(choice) or of_envelopes

    def late_label(self) -> SpeakerLabel | None:
        """At the end: the label that arrived after all text, and therefore applies to it."""
        return self._late

    def _take_label(
        self, message: Mapping[str, Any], choice: Mapping[str, Any], of_envelopes: SpeakerLabel | None, *, is_first_role: bool
    ) -> None:
        """Record a label that came without text: it applies to the text after it, or, if there is none, to the text before."""
        labels = {name: value for name, value in message.items() if name != "role" and not _is_empty(value, false_is_empty=False)}
        self._ahead |= {name: value for name, value in labels.items() if name not in self._places and _label_of(name, value)}
        if not self._has_text or not labels.keys().isdisjoint(_CALLS):
            return
        role = other_label({"role": self._role}) if is_first_role else None
        self._late = role or other_label(labels, besides=self._places) or other_label(choice) or of_envelopes or self._late


def _is_empty(value: object, depth: int = 0, *, false_is_empty: bool = True) -> bool:
    if value is None or value == "" or (value is False and false_is_empty):
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


def restored(text: str, *, last: str = "") -> str:
    """``text`` without the joiners of echoed markers. ``last``: the character before it."""
    return (last + text).replace(f"<{_JOINER}", "<")[len(last) :]
