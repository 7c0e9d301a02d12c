"""Converts the chunks of a Chat Completions stream into raw events. Only the answer field can become visible."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chatui.backends.base import EndReason, GivenReasoning, Usage
from chatui.backends.chat.reasoning import ReasoningCollector
from chatui.backends.leaks.guard import TextSpan, judged
from chatui.backends.leaks.labels import ANY_TEXT, Asked
from chatui.backends.leaks.scanner import LeakGuard
from chatui.backends.raw_frames import Allowance, FrameSource, FrameWriter, after_call, leak
from chatui.backends.repeats import is_thought
from chatui.backends.separation import UPSTREAM_FIELDS, Read, Separation, digest_of, upstream_of
from chatui.backends.speaker import REASONING_FIELDS, Speaker, SpeakerLabel, other_label
from chatui.backends.sse import choice_of, is_object, tables
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, PREAMBLE, SUMMARY
from renderer.frames import Terminator
from renderer.strict_json import object_of, text_of

_OF_REASONING = frozenset(REASONING_FIELDS)
_ANALYSIS = FrameSource(0, "reasoning", ANALYSIS)
_SUMMARY = FrameSource(0, "summary", SUMMARY)
_ANSWER = FrameSource(0, "answer", ANSWER)
_FINISH_REASONS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed"), EndReason.STOP),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), EndReason.LENGTH),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), EndReason.TOOL_CALLS),
    "content_filter": EndReason.CONTENT_FILTER,
}
"""The words for a good end, in lower case, and for those that the page explains. Any other word is a failure, whatever it says."""
_SENTENCE_END, _NEW_MESSAGE = re.compile(r"(?<!\b[^\W\d_])(?<!:)[.!?:…][\"'”’)*_]*\Z"), re.compile(r"(?:\*\*|#{1,6} )?([^\W\d_])")
_TAIL = 8
_ENDS_A_CALL = (200012, "200012", "<|call|>")
"""The stop token that says that the last message was a call. If the server has read none, it is in the text."""
_STOPS = ("stop_reason", "matched_stop", "matched")
_SAY_AN_END = frozenset((*_STOPS, "finish_reason", "meta_info"))


def _ends_in_call(end: object) -> bool:
    """Whether a choice says so, or what SGLang puts into it."""
    if isinstance(end, dict):
        for name in _SAY_AN_END.intersection(end):
            if (value := end[name]) and (value in _ENDS_A_CALL if name in _STOPS else _ends_in_call(value)):
                return True
    return False


class Deltas:
    """Parses one sample. ``feed`` takes decoded chunks in order; then either ``finish`` or ``break_off`` closes everything."""

    def __init__(
        self,
        new_call_id: Callable[[], str],
        *,
        max_chars: int,
        separation: Separation = Separation.UNPROVEN,
        of_upstream: Callable[[str], Separation] | None = None,
        summaries_are_trusted: bool = False,
        asked: Asked = ANY_TEXT,
    ) -> None:
        """``separation``: what is known of the server and the model; ``of_upstream``: what is known of an upstream that a chunk names.

        ``asked``: what the request asked for; if it offered tools, text before a call is a preamble.
        ``summaries_are_trusted``: text that the server marks as a summary of the reasoning is kept apart from it.
        """
        self._allowance = Allowance(max_chars)
        self._writer = FrameWriter(new_call_id)
        self._aside: list[tuple[FrameSource, str]] = []
        self._separation, self._of_upstream = separation, of_upstream
        self._named, self._names, self._upstream = "", list[object](), ""
        self._has_output = False
        self._asked = asked
        self._guard: LeakGuard | None = None
        self._proves = False
        self._is_whole = self._ends_in_call = False
        self._thought, self._thoughts_of_messages = list[str](), list[str]()
        self._summaries, self._late_summaries = list[str](), list[str]()
        """The server's summary of its reasoning: servers call the reasoning itself so, too."""
        self._blank = self._after_call = ""
        self._speaker = Speaker()
        self._summaries_are_trusted = summaries_are_trusted
        self._calls: list[_Call] = []
        self._known_calls: dict[object, _Call] = {}
        """The latest call by its place, by its id, and by both."""
        self._tail = ""
        self._has_said = self._is_after_call = self._is_interrupted = self._refused = self._goes_on = False
        self._reason: str | None = None
        self._given = ReasoningCollector(max_chars)
        self.is_stated = True
        """Whether the server said why the model stopped. Else what is held may be cut."""
        self.usage: Usage | None = None
        self.model: str | None = None
        self.error: object = None
        """What the last chunk says went wrong."""

    @property
    def is_full(self) -> bool:
        """Whether the model exceeded its limit; the rest is dropped."""
        return self._allowance.is_spent

    @property
    def chars(self) -> int:
        return self._allowance.spent

    @property
    def reported_end(self) -> str:
        """The server's word for how the answer ended."""
        return self._reason or ""

    @property
    def has_finished(self) -> bool:
        """Whether the server said why the model stopped, and no text came after that: some say it of each part of an answer."""
        return self._reason is not None and not self._goes_on

    @property
    def has_ended(self) -> bool:
        """Whether it said that the answer ended well."""
        return self.has_finished and not self.failure

    @property
    def failure(self) -> str:
        """The server's word for an end that is no good one; empty if there is none."""
        return "" if self._reason is None or self._reason.lower() in _FINISH_REASONS else self._reason

    @property
    def reasoning(self) -> GivenReasoning | None:
        return self._given.given()

    @property
    def is_empty(self) -> bool:
        return self._writer.open is None and not self._calls and not self.read.is_held

    @property
    def read(self) -> Read:
        return Read(
            *(self._separation, self._proves, self._guard is not None and self._guard.has_sign, self._guard is not None, self._is_whole),
            upstream=digest_of(self._upstream),
            version=digest_of(self._named),
        )

    def feed(self, chunk: Mapping[str, Any]) -> list[RawEvent]:
        """The events of this chunk. Unknown fields are ignored, which hides them."""
        self.model, usage = text_of(chunk.get("model")) or self.model, chunk.get("usage")
        if isinstance(usage, dict):
            self.usage = Usage.reported(usage, "prompt_tokens", "completion_tokens")
        if (names := [*map(chunk.get, UPSTREAM_FIELDS)]) != self._names:  # nearly all chunks say the same
            self._names, self._named = names, upstream_of(chunk) or self._named
        choice, self.error = choice_of(chunk), chunk.get("error")
        if choice is None:
            return []
        delta, message = object_of(choice.get("delta")), object_of(choice.get("message")) if "message" in choice else {}
        events = self._delta(delta or self._new_in(message), choice, chunk)
        if delta and message and (new := self._new_in(message)):
            events += self._delta(new, choice, chunk)
        self._ends_in_call = self._ends_in_call or _ends_in_call(choice)
        self.error = self.error or choice.get("error")
        if reason := choice.get("finish_reason"):
            self._reason, self._goes_on = text_of(reason) or self._reason, False
        return events

    def finish(self) -> tuple[list[RawEvent], EndReason]:
        reason = EndReason.LENGTH if self.is_full else self._end_reason()
        events = self._answer_ended(complete=self.is_stated and reason not in (EndReason.LENGTH, EndReason.CONTENT_FILTER))
        error = ProductCode.LENGTH if reason is EndReason.LENGTH else None
        is_last = not self._aside and reason in (EndReason.STOP, EndReason.REFUSAL)
        # Whether text before calls is the answer is known only now: it is what leads to them.
        if self._asked.tools and self._calls and self._writer.open == _ANSWER and not error:
            events += self._writer.close(Terminator.END, becomes=PREAMBLE)
        events += self._close(Terminator.RETURN if is_last else Terminator.END, error)
        return [*events, *self._call_frames(error)], reason

    def break_off(self, error: ErrorCode = Code.STREAM_TRUNCATED) -> list[RawEvent]:
        events = self._answer_ended(complete=False)
        return [*events, *self._close(None, error), *self._call_frames(error)]

    def _answer_ended(self, *, complete: bool) -> list[RawEvent]:
        """The events at the end of the answer's text. A label that came behind the text hides all of it."""
        self._is_whole = complete
        if self._guard:
            for thought in filter(None, ("".join(self._summaries), "".join(self._late_summaries))):
                self._guard.reasoned_apart(thought)
        spans = self._guard.finish(complete=complete) if self._guard else []
        if not self._was_raw(complete=complete) and not self._speaker.late_label():
            return [*(self._writer.withdraw() if self._guard and self._guard.hides_before else []), *self._spans(spans)]
        return [*self._writer.withdraw(), *self._spans([replace(span, visible=False, is_withheld=True) for span in spans])]

    def _was_raw(self, *, complete: bool) -> bool:
        """Whether the text turns out to be raw output: it is or ends in a call that the server did not read, or a sign follows a call."""
        if complete and self._separation is Separation.UNPROVEN and judged(self._after_call, follows=True).hides_before:
            return True
        if self._calls:
            return False
        guard = self._guard
        return self._ends_in_call or (guard is not None and (guard.ends_in_call or (self._says_calls and guard.is_data)))

    @property
    def _says_calls(self) -> bool:
        return _FINISH_REASONS.get((self._reason or "").lower()) is EndReason.TOOL_CALLS

    def _end_reason(self) -> EndReason:
        reason = _FINISH_REASONS.get((self._reason or "").lower(), EndReason.STOP)
        if reason is not EndReason.LENGTH:
            if self._calls:
                return EndReason.TOOL_CALLS
            if self._refused:
                return EndReason.REFUSAL
        return reason

    def _new_in(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What a whole message adds to the deltas before it, which it repeats: text only if there was none, and reasoning that is new."""
        _, reasoning = self._reasoning(message)
        if reasoning:
            self._thoughts_of_messages.append(reasoning)
            if self._guard:
                self._guard.reasoned_apart(reasoning)
        if self._calls:
            return {}
        words = "".join(reasoning.split())
        is_known = bool(words) and "".join("".join(self._thought).split()).endswith(words)
        return {name: value for name, value in message.items() if (not is_known if name in REASONING_FIELDS else not self._has_said)}

    def _delta(self, delta: Mapping[str, Any], choice: Mapping[str, Any], chunk: Mapping[str, Any]) -> list[RawEvent]:
        """The raw events of one delta: of a summary, of reasoning, then of the answer, as far as the allowance reaches, and its calls."""
        # One delta can hold the end of the reasoning and the beginning of the answer, in this order.
        summary, reasoning = ("", "") if _OF_REASONING.isdisjoint(delta) else self._reasoned(delta)
        answer, other = _answer_of(delta.get("content"))
        refusal = text_of(delta.get("refusal"))
        if answer and not answer.isspace() and answer == reasoning:
            # Some servers send the reasoning in both fields while the model reasons.
            answer = ""
        self._has_said = self._has_said or bool(answer or other or refusal)
        texts = "".join((summary, reasoning, other, answer, refusal))
        self._goes_on = self._goes_on or bool(texts.strip() or delta.get("tool_calls"))
        if not self._has_output and (texts.strip() or delta.get("tool_calls")):
            self._has_output, self._upstream = True, self._named
        label = self._speaker.label_of(delta, choice, chunk, has_text=bool(texts))
        self._is_after_call = self._is_after_call or bool(self._calls and texts.strip())
        events: list[RawEvent] = []
        if summary:
            events += self._between(_SUMMARY, self._allowance.take(summary))
        if reasoning or other:
            events += self._between(_ANALYSIS, self._allowance.take(reasoning + other))
        if label and (answer or refusal):
            events += self._between(_labelled(label), self._allowance.take(answer + refusal))
        elif answer or refusal:
            self._refused = self._refused or bool(refusal)
            for text in filter(None, (answer, refusal)):
                events += self._answer(self._allowance.take(self._joint(text) + text))
        self._take_calls(delta.get("tool_calls"))
        return events

    def _reasoned(self, delta: Mapping[str, Any]) -> tuple[str, str]:
        """Take in the reasoning, see ``_reasoning``. Before the first text, it proves that the server separates it."""
        self._given.feed(delta)
        summary, reasoning = self._reasoning(delta)
        if not (summary or reasoning):
            return "", ""
        self._thought.append(reasoning)
        self._summaries.append(summary)
        if self._guard:
            self._guard.reasoned(reasoning)
            self._late_summaries.append(summary)
        else:
            self._proves = self._proves or is_thought("".join((*self._thought, *self._summaries)))
        return summary, reasoning

    def _answer(self, text: str) -> list[RawEvent]:
        if self._is_after_call:
            self._after_call += text
            return self._write(_ANSWER, text)
        if self._guard is None:
            # White space before the reasoning is no text yet.
            if not text.strip():
                self._blank += text
                return []
            text = self._blank + text
            if self._proves:
                self._separation = Separation.OWN
            elif self._upstream and self._of_upstream:
                self._separation = self._of_upstream(digest_of(self._upstream))
            thoughts = filter(None, (*self._asked.thoughts, *self._thoughts_of_messages, "".join(self._summaries)))
            asked = replace(self._asked, thoughts=tuple(thoughts))
            self._guard = LeakGuard(self._separation, thought="".join(self._thought), asked=asked)
        return self._spans(self._guard.feed(text))

    def _reasoning(self, delta: Mapping[str, Any]) -> tuple[str, str]:
        """The server's summary (empty unless trusted), and the rest of the reasoning. Both stay hidden."""
        details = delta.get("reasoning_details")
        summary = ""
        if self._summaries_are_trusted and isinstance(details, list):
            summary = _text([part for part in details if _is_summary(part)])
            delta = {**delta, "reasoning_details": [part for part in details if not _is_summary(part)]}
        for name in REASONING_FIELDS:
            # If there is a summary, the plain field repeats its text.
            if (value := delta.get(name)) and (text := _text(value)) and text != summary:
                return summary, text
        return summary, ""

    def _spans(self, spans: Iterable[TextSpan]) -> list[RawEvent]:
        events: list[RawEvent] = []
        for span in spans:
            if span.begins:
                events += self._close(Terminator.END, None)
            source = _ANSWER if span.visible else leak(0, is_withheld=span.is_withheld)
            events += self._write(source, span.text, follows_call=False)
        return events

    def _joint(self, text: str) -> str:
        """What comes between the answer so far and ``text``, if something else came in between.

        Routers send a thought anywhere in a sentence, and the text goes on where it stopped. Only a sentence that had ended, and a capital
        letter without a space before it, are two messages: an announcement, and the answer. No sentence ends with the initial of ``U.S.``
        """
        was_interrupted, before, self._is_interrupted = self._is_interrupted, self._tail, False
        self._tail = (before + text)[-_TAIL:]
        begin = _NEW_MESSAGE.match(text) if was_interrupted and _SENTENCE_END.search(before) else None
        return "\n\n" if begin and begin[1].isupper() else ""

    def _between(self, source: FrameSource, text: str) -> list[RawEvent]:
        """Text whose field or label says that it is not the answer."""
        self._is_interrupted = self._is_interrupted or bool(text.strip())
        return self._write(source, text)

    def _write(self, source: FrameSource, text: str, *, follows_call: bool = True) -> list[RawEvent]:
        """Buffers whatever arrives in the middle of an answer, so that the answer stays one frame, which can be withdrawn as a whole."""
        if not text:
            return []
        if self._is_after_call and follows_call:
            source = after_call(source)
        if self._writer.open == _ANSWER and source != _ANSWER:
            self._aside.append((source, text))
            return []
        before = self._close(Terminator.END, None) if self._writer.open != source else []
        return [*before, *self._writer.write(source, text)]

    def _close(self, terminator: Terminator | None, error: ErrorCode | None) -> list[RawEvent]:
        events = self._writer.close(terminator, error)
        waiting, self._aside = self._aside, []
        for source, text in waiting:
            events += self._writer.write(source, text)
        return [*events, *self._writer.close(Terminator.END)]

    def _take_calls(self, fragments: object) -> None:
        for position, fragment in enumerate(fragments if isinstance(fragments, list) else []):
            if isinstance(fragment, dict):
                self._take_fragment(fragment, position)

    def _take_fragment(self, fragment: Mapping[str, Any], position: int) -> None:
        """A part of a call. It belongs to the call with its id and index, else to the last one at its place, unless it says another."""
        index, function = fragment.get("index"), object_of(fragment.get("function"))
        place = index if type(index) is int else position
        arguments = function.get("arguments")
        arguments = json.dumps(arguments) if isinstance(arguments, dict | list) else text_of(arguments)
        part = _Call(place, _text(fragment.get("id")), _text(function.get("name")), [self._allowance.take(arguments)])
        if not (part.call_id or part.name or arguments):
            return
        same = (place, part.call_id) if type(index) is int else part.call_id
        call = self._known_calls.get(same) or self._known_calls.get(place)
        if call is None or call.is_other(part):
            call = part
            self._calls.append(call)
        else:
            call.add(part)
        self._known_calls |= {place: call} | ({call.call_id: call, (call.place, call.call_id): call} if call.call_id else {})

    def _call_frames(self, error: ErrorCode | None) -> list[RawEvent]:
        """Calls come in fragments that may be interleaved, so they are written once all are complete."""
        calls, self._calls = sorted(self._calls, key=lambda call: call.place), []
        return self._writer.calls(((call.call_id, call.name, call.whole_arguments() or "{}") for call in calls), error)


@dataclass(slots=True)
class _Call:
    place: int
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list, repr=False)

    def is_other(self, part: _Call) -> bool:
        """Whether a part at the same place begins another call: it has another id, or another name, or brings more than whole arguments.

        Some servers give each part a new id: a part without a name goes on with a call whose arguments are not whole yet.
        """
        if part.call_id and self.call_id:
            return part.call_id != self.call_id and bool(part.name or self._is_whole())
        if not part.name or not self.name:
            return False
        if part.name == self.name:
            return part.arguments != [""] and self._is_whole()
        return self._is_whole() or not part.name.startswith(self.name)

    def add(self, part: _Call) -> None:
        """A part of this call. An id that comes late counts; so does a name that grew."""
        self.call_id = self.call_id or part.call_id
        self.name = part.name if part.name.startswith(self.name) else self.name
        self.arguments += part.arguments

    def whole_arguments(self) -> str:
        """The arguments; once, if each part repeats those before it."""
        text, parts = "".join(self.arguments), list(filter(None, self.arguments))
        is_repeated = len(parts) > 1 and all(later.startswith(part) for part, later in itertools.pairwise(parts))
        return parts[-1] if is_repeated and is_object(parts[-1]) and not is_object(text) else text

    def _is_whole(self) -> bool:
        text = "".join(self.arguments)
        return text.endswith("}") and is_object(text)


def _is_summary(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "reasoning.summary"


def _text(value: object) -> str:
    """The text of a field, which servers send as a string, an object or a list of parts. Parts without text count as empty."""
    match value:
        case str():
            return value
        case list():
            return "".join(_text(part) for part in value if isinstance(part, (str, dict)))
        case dict():
            return next((text for name in ("text", "content", "summary") if isinstance(text := value.get(name), str)), "")
    return ""


def _answer_of(value: object) -> tuple[str, str]:
    """The text of the answer field, and text in it that is not the answer. In a list only parts marked as text belong to the answer."""
    if not isinstance(value, list):
        return text_of(value), ""
    parts = tables(value)
    shown = [part.get("type") in ("text", "output_text") and other_label(part) is None for part in parts]
    shown = [is_shown and isinstance(part.get("text"), str) for is_shown, part in zip(shown, parts, strict=True)]
    texts = [_text(part.get("text")) for part in parts]
    return "".join(itertools.compress(texts, shown)), "".join(text for text, is_shown in zip(texts, shown, strict=True) if not is_shown)


def _labelled(label: SpeakerLabel) -> FrameSource:
    if label.name == "role":
        return leak(0, is_withheld=False)
    return _ANALYSIS if label.is_known else leak(0, is_withheld=True)
