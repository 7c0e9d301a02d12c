"""Converts the events of a Responses stream into raw events: item types and phases decide what is visible.

The type of a content part alone never does: servers put reasoning into ``output_text`` parts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chatui.backends.base import EndReason, GivenReasoning, Usage
from chatui.backends.leaks.labels import ANY_TEXT, Asked
from chatui.backends.raw_frames import Allowance, FrameSource, FrameWriter, after_call
from chatui.backends.responses.items import (
    CALL,
    MESSAGE,
    REASONING,
    SUMMARY,
    TEXT,
    THOUGHT,
    VISIBLE_PARTS,
    Items,
    OutputItem,
    kind_of,
    texts_of,
    words_of,
)
from chatui.backends.responses.speech import ServerTools, Speech, TokenLimit
from chatui.backends.separation import Read, Separation, digest_of, upstream_of
from chatui.backends.speaker import REPEATS, SpeakerLabel, label_of_envelope, other_label
from chatui.backends.sse import number, tables
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN
from renderer.frame_kinds import SUMMARY as SUMMARY_HEADER
from renderer.frames import Terminator
from renderer.strict_json import object_of, text_of

# By event name: the lane, the field with the text, and whether that is the whole part.
_TEXT_EVENTS = {
    "response.output_text.delta": (TEXT, "delta", False),
    "response.output_text.done": (TEXT, "text", True),
    "response.refusal.delta": (TEXT, "delta", False),
    "response.refusal.done": (TEXT, "refusal", True),
    "response.reasoning.delta": (THOUGHT, "delta", False),
    "response.reasoning.done": (THOUGHT, "text", True),
    "response.reasoning_text.delta": (THOUGHT, "delta", False),
    "response.reasoning_text.done": (THOUGHT, "text", True),
    "response.reasoning_summary_text.delta": (SUMMARY, "delta", False),
    "response.reasoning_summary_text.done": (SUMMARY, "text", True),
    "response.reasoning_summary.delta": (SUMMARY, "delta", False),
    "response.reasoning_summary.done": (SUMMARY, "text", True),
}
_PARTS = {"response.content_part": TEXT, "response.reasoning_part": THOUGHT, "response.reasoning_summary_part": SUMMARY}
_BEGINNINGS = ("response.created", "response.in_progress", "response.queued")
_ENDS = {f"response.{status}": status for status in ("completed", "incomplete", "failed", "cancelled")}
_ECHOES = ("instructions", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "previous_response_id")
"""Fields of a response that repeat the request."""
_OF_AN_EVENT = ("type", "response_id", "part", "item", "event")
_MAX_ITEMS = 1000
_MAX_OPAQUE_CHARS = 4000


class Reducer:
    """Parses one sample. ``feed`` takes decoded events in order; then either ``finish`` or ``break_off`` closes everything."""

    def __init__(
        self,
        new_call_id: Callable[[], str],
        *,
        max_chars: int,
        separation: Separation = Separation.UNPROVEN,
        summaries_are_trusted: bool = False,
        asked: Asked = ANY_TEXT,
    ) -> None:
        """As for ``chat.deltas.Deltas``."""
        self._allowance = Allowance(max_chars)
        self.token_limit: TokenLimit | None = None
        """To detect a cut that is not reported."""
        self._summary = SUMMARY_HEADER if summaries_are_trusted else ANALYSIS
        self._writer = FrameWriter(new_call_id)
        self.items = Items()
        self._refused = False
        self._cut: str | None = None
        self._label: SpeakerLabel | None = None
        """A label of the whole response."""
        self.status = ""
        self.error: object = None
        self.usage: Usage | None = None
        self.model: str | None = None
        self.oddities: Counter[str] = Counter()
        self.of_upstream: Callable[[str], Separation] | None = None
        """What is known of an upstream that the response names, by its digest."""
        self._named = self._upstream = ""
        self._has_output = False
        self._speech = Speech(self._writer, self._allowance, self.oddities, separation, asked)
        self.server_tools = ServerTools(None)

    @property
    def is_full(self) -> bool:
        """Whether the model exceeded its limit; the rest is dropped."""
        return self._allowance.is_spent or len(self.items) > _MAX_ITEMS

    @property
    def chars(self) -> int:
        return self._allowance.spent

    @property
    def reported_end(self) -> str:
        return self.status

    @property
    def has_ended(self) -> bool:
        return self.status in ("completed", "incomplete") and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether the response or its answer failed, although the response ended well by its name."""
        return bool(self.error) or any(item.status in ("failed", "cancelled") and item.header() is ANSWER for item in self.items)

    @property
    def reasoning(self) -> GivenReasoning | None:
        return self.items.reasoning()

    @property
    def read(self) -> Read:
        version = "\n".join((self._named, self.model or "")) if self._named or self.model else ""
        return replace(self._speech.read, upstream=digest_of(self._upstream), version=digest_of(version))

    @property
    def is_empty(self) -> bool:
        return not len(self.items)

    def feed(self, kind: str, event: Mapping[str, Any]) -> list[RawEvent]:
        """The raw events of this event. Unknown events add nothing, which hides them; they are counted."""
        if kind in _TEXT_EVENTS:
            lane, name, is_whole = _TEXT_EVENTS[kind]
            if kind.startswith("response.refusal"):
                self._refused = True
            return self._text(event, lane, event.get(name), is_whole=is_whole)
        family, _, step = kind.rpartition(".")
        if family in _PARTS and step in ("added", "done"):
            return self._part(event, _PARTS[family])
        if family == "response.function_call_arguments" and step in ("delta", "done"):
            self._arguments(event)
            return []
        if family == "response.output_item" and step in ("added", "done"):
            return self._item(event, is_done=step == "done")
        response = event.get("response")
        if kind in _BEGINNINGS:
            self._identify(response)
        elif kind in _ENDS:
            return self.end(object_of(response), _ENDS[kind])
        else:
            self.oddities["unknown event"] += 1
        return []

    def end(self, response: Mapping[str, Any], status: str = "") -> list[RawEvent]:
        """The complete response at its end. The status inside it counts more than the name of the event."""
        self._identify(response)
        self.status = text_of(response.get("status")) or status
        self.error = response.get("error")
        usage, details, output = response.get("usage"), response.get("incomplete_details"), response.get("output")
        if isinstance(usage, dict):
            self.usage = Usage.reported(usage, "input_tokens", "output_tokens")
        self._cut = text_of(object_of(details).get("reason")) or self._cut
        matched = self.items.matched(tables(output)[:_MAX_ITEMS])
        for item in self.items:
            self._mark(item, {})
        events = [event for item in self.items for event in self._speech.withdraw_hidden(item)]
        for item, data in matched:
            if not self.is_full:
                events += self._whole_item(item, data)
        return events

    def finish(self) -> tuple[list[RawEvent], EndReason]:
        reason = self._end_reason()
        error = ProductCode.LENGTH if reason is EndReason.LENGTH else None
        is_whole = reason not in (EndReason.LENGTH, EndReason.CONTENT_FILTER)
        is_last = reason in (EndReason.STOP, EndReason.REFUSAL)
        self._speech.is_before_call = bool(self._speech.asked.tools) and reason is EndReason.TOOL_CALLS
        return self._close(Terminator.RETURN if is_last else Terminator.END, error, is_whole=is_whole), reason

    def break_off(self, error: ErrorCode = Code.STREAM_TRUNCATED) -> list[RawEvent]:
        return self._close(None, error, is_whole=False)

    # Parsing events

    def _text(self, event: Mapping[str, Any], lane: str, text: object, *, is_whole: bool) -> list[RawEvent]:
        item = self.items.item_for_text(event)
        events: list[RawEvent] = []
        if lane == TEXT:
            item.mark(other_label(event, besides=_OF_AN_EVENT, repeats=REPEATS))
            events = self._speech.withdraw_hidden(item)
        if not isinstance(text, str) or not text:
            return events
        part = number(event.get("summary_index" if lane == SUMMARY else "content_index")) or 0
        return [*events, *self._flow(item, lane, part, text, is_whole=is_whole)]

    def _part(self, event: Mapping[str, Any], lane: str) -> list[RawEvent]:
        data = event.get("part")
        if not isinstance(data, dict):
            return []
        item = self.items.item_for_text(event)
        index = number(event.get("summary_index" if lane == SUMMARY else "content_index")) or 0
        events: list[RawEvent] = []
        if lane == TEXT and (data.get("type") is not None or other_label(data)):
            item.learn_part(index, kind_of(data))
            events = self._hide_shown(item, index)
        text = words_of(data)
        return [*events, *(self._flow(item, lane, index, text, is_whole=True) if text else [])]

    def _hide_shown(self, item: OutputItem, part: int) -> list[RawEvent]:
        """A part that people have seen has another type now: only its text is hidden, and that of the other parts shown again."""
        if item.part_kinds[part] in VISIBLE_PARTS or not (text := item.flows[TEXT].drop(part)):
            return []
        rest = item.flows[TEXT].text
        if item.waiting:
            item.waiting = [rest]
        return [*self._speech.withdraw_part(item, rest), *self._route(item, THOUGHT, item.flows[THOUGHT].add(part, text))]

    def _flow(self, item: OutputItem, lane: str, part: int, text: str, *, is_whole: bool) -> list[RawEvent]:
        if item.kind not in (MESSAGE, REASONING, ""):
            self.oddities["text of an item that holds none"] += 1
            return []
        if lane == TEXT and item.kind == REASONING:
            lane = THOUGHT
        if lane == TEXT and item.part_kinds.get(part, "output_text") not in VISIBLE_PARTS:
            # A lane of its own, so that it is not part of the message's text.
            lane = THOUGHT
        flow = item.flows[lane]
        if lane == TEXT and text.strip():
            self._speech.arrived(item)
        if is_whole:
            flow.claim(part, text)
            return []
        return self._route(item, lane, flow.add(part, text))

    def _arguments(self, event: Mapping[str, Any]) -> None:
        item = self.items.item_for_call(event)
        delta = event.get("delta")
        if isinstance(delta, str):
            item.argument_deltas.append(self._allowance.take(delta))
            item.counted += len(delta)
        item.take_arguments(event.get("arguments"))
        item.learn({"name": event.get("name")})

    def _item(self, event: Mapping[str, Any], *, is_done: bool) -> list[RawEvent]:
        data = event.get("item")
        if not isinstance(data, dict) or not isinstance(data.get("type"), str):
            self.oddities["unknown item"] += 1
            return []
        index = number(event.get("output_index"))
        if data["type"] == CALL:
            self._begin_output()
        if not is_done:
            item = self.items.added(data, index)
            item.take_arguments(data.get("arguments"))
            self._mark(item, event)
            return [*self._speech.withdraw_hidden(item), *self._announce(item, data), *self._release(item)]
        item = self.items.done(data, index)
        self._mark(item, event)
        return self._whole_item(item, data)

    def _mark(self, item: OutputItem, event: Mapping[str, Any]) -> None:
        """A label beside an item, or of the response, applies to the item's text."""
        if item.kind == MESSAGE:
            item.mark(other_label(event, besides=_OF_AN_EVENT, repeats=REPEATS) or self._label)

    def _whole_item(self, item: OutputItem, data: Mapping[str, Any]) -> list[RawEvent]:
        """A complete item, as the server states it at the item's end or in the final snapshot of the response."""
        events = [*self._speech.withdraw_hidden(item), *self._release(item)]
        match item.kind:
            case "message":
                events += self._whole_message(item, data.get("content"))
            case "reasoning":
                item.given = dict(data)
                events += self._whole_reasoning(item, data)
            case "function_call":
                item.take_arguments(data.get("arguments"))
                uncounted = max(len(item.arguments) - item.counted, 0)
                self._allowance.spend(uncounted)
                item.counted += uncounted
            case _ if not item.is_done:
                events += [*self._announce(item, data), *self._opaque(item, data)]
        item.is_done = True
        return events

    def _whole_message(self, item: OutputItem, content: object) -> list[RawEvent]:
        parts = tables([{"type": "text", "text": content}] if isinstance(content, str) else content)
        self._refused = self._refused or any(part.get("type") == "refusal" and words_of(part) for part in parts)
        events: list[RawEvent] = []
        for index, part in enumerate(parts):
            item.learn_part(index, kind_of(part))
            events += self._hide_shown(item, index)
        visible = [part for index, part in enumerate(parts) if item.part_kinds[index] in VISIBLE_PARTS]
        self.server_tools.take_annotations(item.number, visible)
        shown = [words_of(part) if item.part_kinds[index] in VISIBLE_PARTS else "" for index, part in enumerate(parts)]
        other = [words_of(part) if not text else "" for part, text in zip(parts, shown, strict=True)]
        events += self._route(item, THOUGHT, item.flows[THOUGHT].complete(other))
        return events + self._route(item, TEXT, item.flows[TEXT].complete(shown))

    def _whole_reasoning(self, item: OutputItem, data: Mapping[str, Any]) -> list[RawEvent]:
        summary, thought = texts_of(data.get("summary")), texts_of(data.get("content"))
        events = self._route(item, SUMMARY, item.flows[SUMMARY].complete(summary))
        is_repeated = not item.flows[THOUGHT].text and "\n\n".join(thought) == item.flows[SUMMARY].text
        if is_repeated and self._summary is ANALYSIS:
            # The chain of thought, which was sent as a summary before, and is already reasoning. A trusted summary is not: the model could
            # not be given it again between its calls.
            return events
        return events + self._route(item, THOUGHT, item.flows[THOUGHT].complete(thought))

    def _announce(self, item: OutputItem, data: Mapping[str, Any]) -> list[RawEvent]:
        line = self.server_tools.line(item.number, data)
        return self._speech.aside(*line) if line else []

    def _opaque(self, item: OutputItem, data: Mapping[str, Any]) -> list[RawEvent]:
        """A built-in tool of the server, or an unknown kind: stored for staff, up to a limit."""
        self.oddities["other item"] += 1
        known = {name: value for name, value in data.items() if name != "encrypted_content"}
        text = json.dumps(known, ensure_ascii=False)[:_MAX_OPAQUE_CHARS]
        return self._speech.aside(FrameSource(item.number, "item", BROKEN), text)

    def _identify(self, response: object) -> None:
        if not isinstance(response, dict):
            return
        # Other fields hold what was asked, such as instructions and tools.
        labels = {name: value for name, value in response.items() if isinstance(value, str | bool) and name not in _ECHOES}
        self._label = self._label or label_of_envelope(labels)
        self.model = text_of(response.get("model")) or self.model
        self._named = upstream_of(response) or self._named

    def _begin_output(self) -> None:
        """Who was named before the first output answers; whoever is named later may be anybody."""
        if self._has_output:
            return
        self._has_output, self._upstream = True, self._named
        if self._upstream and self.of_upstream:
            self._speech.known(self.of_upstream(digest_of(self._upstream)))

    # Order of text

    def _release(self, item: OutputItem) -> list[RawEvent]:
        """The item's kind is now known: writes the text that waited for it."""
        if not item.kind or not item.waiting:
            return []
        text, item.waiting = "".join(item.waiting), []
        if item.kind == MESSAGE:
            return self._speech.write(item, text)
        if item.kind == REASONING:
            self._speech.reasoned(item, text)
        return self._speech.aside(FrameSource(item.number, TEXT, ANALYSIS if item.kind == REASONING else BROKEN), text)

    def _route(self, item: OutputItem, lane: str, text: str) -> list[RawEvent]:
        text = self._allowance.take(text)
        if not text:
            return []
        self._begin_output()
        if self._is_after_call(item):
            return self._speech.aside(after_call(FrameSource(item.number, lane, item.header() if lane == TEXT else ANALYSIS)), text)
        if lane != TEXT and item.kind in (REASONING, ""):
            self._speech.reasoned(item, text)
        if lane != TEXT:
            header = self._summary if lane == SUMMARY and item.kind == REASONING else ANALYSIS
            return self._speech.aside(FrameSource(item.number, lane, header), text)
        if not item.kind:
            item.waiting.append(text)
            return []
        return self._speech.write(item, text)

    def _is_after_call(self, item: OutputItem) -> bool:
        return any(other.kind == CALL and other.number < item.number for other in self.items)

    def _close(self, terminator: Terminator | None, error: ErrorCode | None, *, is_whole: bool) -> list[RawEvent]:
        events = [*self._hide_repeated(), *self._speech.stop(terminator, error, is_whole=is_whole)]
        for item in self.items:
            for lane, flow in item.flows.items():
                events += self._route(item, lane, flow.settle())
            events += self._speech.stop(terminator, error, is_whole=is_whole)
            if item.waiting:
                self.oddities["text of an item that was never named"] += 1
                events += self._writer.write(FrameSource(item.number, TEXT, BROKEN, Code.PARSE_HEADER), "".join(item.waiting))
            if any(flow.differs for flow in item.flows.values()):
                self.oddities["a text that changed afterwards"] += 1
        events += self._speech.release(terminator, error, is_whole=is_whole)
        events += self._writer.close(Terminator.END, error)
        for item in self.items:
            if self._speech.is_answer(item):
                self.server_tools.cite(item.number)
        calls = [(item.call_id, item.name, item.whole_arguments()) for item in self.items if item.kind == CALL]
        return events + self._writer.calls(calls, error)

    def _hide_repeated(self) -> list[RawEvent]:
        """Text that is reasoning elsewhere in the response, all of it or its beginning, is no message, whichever of the two came first."""
        thoughts = {
            whole
            for item in self.items
            for lane in ((THOUGHT, SUMMARY, TEXT) if item.kind == REASONING else (THOUGHT, SUMMARY))
            for whole in item.flows[lane].wholes()
        }
        events: list[RawEvent] = []
        for item in self.items:
            if not thoughts.isdisjoint(item.flows[TEXT].wholes()):
                item.mark(SpeakerLabel("text", is_known=False))
                events += self._speech.withdraw_hidden(item)
            events += self._speech.withdraw_thoughts(item, thoughts)
        return events

    def _end_reason(self) -> EndReason:
        if self._cut == "content_filter":
            return EndReason.CONTENT_FILTER
        if self.is_full or self.status == "incomplete" or self._is_cut():
            return EndReason.LENGTH
        if any(item.kind == CALL for item in self.items):
            return EndReason.TOOL_CALLS
        return EndReason.REFUSAL if self._refused else EndReason.STOP

    def _is_cut(self) -> bool:
        """Several servers report an answer as completed although their token limit cut it."""
        if self.token_limit and self.usage and self.token_limit.is_reached(self.usage):
            return True
        return any(item.status == "incomplete" and item.header() is ANSWER for item in self.items)
