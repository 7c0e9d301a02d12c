"""Converts a turn's events into the events of a streamed response, always in the specification's order.

Only a program that may read it gets the raw reasoning part of a reasoning item. For others the part is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from chatui.api.errors import of_end
from chatui.api.response_object import (
    SUMMARY,
    TEXT,
    THOUGHT,
    Item,
    PartType,
    ResponseHead,
    call_item,
    item_id,
    message_item,
    reasoning_item,
    response_object,
    tool_item,
)
from chatui.codes import ProductCode
from chatui.turns.streams.program import (
    Called,
    Closed,
    Ended,
    MoreProgramText,
    Opened,
    ProgramEvent,
    Sealed,
    Step,
    Thinking,
    Thought,
    ToolRun,
    Withdrawn,
)

Event = dict[str, Any]

_TERMINAL = {"completed": "response.completed", "incomplete": "response.incomplete", "cancelled": "response.incomplete"}


class ResponseEvents:
    """Writes the events of one response. Call ``begin`` once, and ``feed`` with each event of the turn."""

    messages_field = "input"

    def __init__(self, head: ResponseHead, *, wants_summary: bool, thought: PartType = THOUGHT) -> None:
        """``thought``: the names of the events with raw reasoning."""
        self._head = head
        self._thought = thought
        self._wants_summary = wants_summary
        self._number = 0
        self.output: list[Item] = []
        """The closed items."""
        self.ended: Ended | None = None
        self.whole: Item | None = None
        """The response object, once it has ended."""
        self.finished_at: datetime | None = None
        """Set this to replay a response that ended earlier."""
        self._key = ""
        """The key of the open item."""
        self._is_thinking = False
        self._steps: list[str] = []
        self._waiting: list[Step] = []
        self._raw: list[str] = []
        self._sealed: str | None = None
        self._opened: Opened | None = None
        self._texts: list[str] = []

    def begin(self) -> Iterator[Event]:
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, response=response_object(self._head, []))

    def feed(self, event: ProgramEvent) -> Iterator[Event]:
        if self.ended is not None:
            return
        match event:
            case Opened():
                self._opened, self._texts = event, []
            case MoreProgramText(text=text):
                yield from self._answer_grew(text)
            case Closed():
                yield from self._close(event)
            case Called() | ToolRun():
                yield from self._call(event)
            case Withdrawn():
                # Sent text cannot be withdrawn, so the response fails; at least the message is not repeated.
                self._opened, self._texts = None, []
                yield from self._end(Ended("failed", ProductCode.WITHHELD))
            case Ended():
                yield from self._end(event)
            case _:
                yield from self._feed_thinking(event)

    def so_far(self) -> list[Item]:
        """The items of a response that is still being written, with the open one."""
        if self._opened is not None and self._texts:
            text, is_preamble = "".join(self._texts), self._opened.is_preamble
            return [*self.output, message_item(self._key, text, "in_progress", is_preamble=is_preamble)]
        return [*self.output, reasoning_item(self._key, self._steps, "in_progress")] if self._is_thinking else self.output

    def _feed_thinking(self, event: Thinking | Step | Thought | Sealed) -> Iterator[Event]:
        match event:
            case Thinking(key=key):
                yield from self._think(key)
            case Step():
                yield from self._step(event)
            case Thought(text=text):
                yield from self._part_grew(self._thought, self._place("reasoning", content_index=0), text, is_first=not self._raw)
                self._raw.append(text)
            case Sealed(token=token):
                self._sealed = token

    def _think(self, key: UUID) -> Iterator[Event]:
        if not self._is_thinking:
            self._key, self._steps, self._is_thinking = key.hex, [], True
            yield self._added(reasoning_item(self._key, [], "in_progress"))

    def _step(self, step: Step) -> Iterator[Event]:
        if not self._wants_summary:
            return
        if self._opened is not None:
            self._waiting.append(step)  # no item begins inside a message
            return
        yield from self._think(step.key)
        place = self._place("reasoning", summary_index=len(self._steps))
        self._steps.append(step.text)
        yield from self._part_grew(SUMMARY, place, step.text, is_first=True)
        yield from self._end_of(SUMMARY, place, step.text)

    def _end_thinking(self, status: str = "completed") -> Iterator[Event]:
        if self._is_thinking:
            raw = "".join(self._raw) if self._raw else None
            if raw is not None:
                yield from self._end_of(self._thought, self._place("reasoning", content_index=0), raw)
            item = reasoning_item(self._key, self._steps, status, raw, self._sealed)
            self._is_thinking, self._sealed, self._raw = False, None, []
            yield self._done(item)

    def _answer_grew(self, text: str) -> Iterator[Event]:
        if self._opened is None:
            return
        is_first = not self._texts
        if is_first:
            yield from self._end_thinking()
            self._key = self._opened.key.hex
            yield self._added(message_item(self._key, "", "in_progress", is_preamble=self._opened.is_preamble))
        self._texts.append(text)
        yield from self._part_grew(TEXT, self._place("message", content_index=0), text, is_first=is_first)

    def _close(self, closed: Closed) -> Iterator[Event]:
        opened, self._opened = self._opened, None
        if opened is not None and self._texts:
            text = "".join(self._texts)
            yield from self._end_of(TEXT, self._place("message", content_index=0), text)
            status = "completed" if closed.is_whole else "incomplete"
            yield self._done(message_item(self._key, text, status, is_preamble=closed.is_preamble))
        self._texts, waiting, self._waiting = [], self._waiting, []
        for step in waiting:
            yield from self._step(step)

    def _call(self, call: Called | ToolRun) -> Iterator[Event]:
        """A call is sent as a whole: one of the program's functions once its arguments are checked, one of a tool when it is over, because
        such calls may run at the same time, and items do not overlap."""
        yield from self._end_thinking()
        self._key = call.key.hex
        if isinstance(call, ToolRun):
            yield self._added(tool_item(self._key, call.label, "in_progress"))
            yield self._done(tool_item(self._key, call.label, "completed" if call.is_well else "failed"))
            return
        yield self._added(call_item(self._key, call, "in_progress"))
        place = self._place("function_call")
        yield self._event("response.function_call_arguments.delta", **place, delta=call.arguments)
        yield self._event("response.function_call_arguments.done", **place, arguments=call.arguments)
        yield self._done(call_item(self._key, call))

    def _end(self, ended: Ended) -> Iterator[Event]:
        self.ended = ended
        yield from self._close(Closed(bool(self._opened and self._opened.is_preamble), is_whole=False))
        yield from self._end_thinking("completed" if ended.state == "completed" else "incomplete")
        self.whole = response_object(self._head, self.output, ended, ended.at or self.finished_at or timezone.now())
        kind = _TERMINAL.get(self.whole["status"], "response.failed")
        if kind == "response.failed":
            yield self._event("error", error=of_end(ended, self.messages_field).body())
        yield self._event(kind, response=self.whole)

    def _place(self, kind: str, **indices: int) -> dict[str, Any]:
        return {"item_id": item_id(kind, self._key), "output_index": len(self.output), **indices}

    def _part_grew(self, part: PartType, place: Mapping[str, Any], text: str, *, is_first: bool) -> Iterator[Event]:
        if is_first:
            yield self._event(f"{part.around}.added", **place, part=part.of(""))
        yield self._event(f"{part.name}.delta", **place, delta=text, **({"logprobs": []} if part is TEXT else {}))

    def _end_of(self, part: PartType, place: Mapping[str, Any], text: str) -> Iterator[Event]:
        yield self._event(f"{part.name}.done", **place, text=text, **({"logprobs": []} if part is TEXT else {}))
        yield self._event(f"{part.around}.done", **place, part=part.of(text))

    def _added(self, item: Item) -> Event:
        return self._event("response.output_item.added", output_index=len(self.output), item=item)

    def _done(self, item: Item) -> Event:
        event = self._event("response.output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)
        return event

    def _event(self, kind: str, **fields: Any) -> Event:
        number, self._number = self._number, self._number + 1
        return {"type": kind, "sequence_number": number, **fields}
