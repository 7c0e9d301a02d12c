"""Converts a turn's events into the events of a streamed response, always in the specification's order.

Only a program that may read it gets the raw reasoning part of a reasoning item. For others the part is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Protocol

from django.utils import timezone

from chatui.api.errors import of_code
from chatui.api.response_object import (
    Item,
    ResponseHead,
    call_events,
    call_item,
    message_item,
    reasoning_item,
    reasoning_part,
    response_object,
    summary_part,
    text_part,
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
    Withdrawn,
)

Place = dict[str, Any]


class MakeEvent(Protocol):
    """Creates an event of a kind, with the next number."""

    def __call__(self, kind: str, **fields: Any) -> dict[str, Any]:
        """See above."""


class RawReasoning:
    """Collects the raw reasoning of one item. Call ``more`` with each text, then ``end``, then ``take`` it for the item."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def more(self, event: MakeEvent, place: Place, text: str) -> Iterator[dict[str, Any]]:
        """The events of more text. The first opens the part."""
        place = place | {"content_index": 0}
        if not self._texts:
            yield event("response.content_part.added", **place, part=reasoning_part(""))
        self._texts.append(text)
        yield event("response.reasoning.delta", **place, delta=text)

    def end(self, event: MakeEvent, place: Place) -> Iterator[dict[str, Any]]:
        """The events that close the part, if it was opened."""
        if self._texts:
            place, text = place | {"content_index": 0}, "".join(self._texts)
            yield event("response.reasoning.done", **place, text=text)
            yield event("response.content_part.done", **place, part=reasoning_part(text))

    def take(self) -> str | None:
        """The whole reasoning; None if there was none."""
        texts, self._texts = self._texts, []
        return "".join(texts) if texts else None


Event = dict[str, Any]

_TERMINAL = {"completed": "response.completed", "incomplete": "response.incomplete", "cancelled": "response.incomplete"}


class ResponseEvents:
    """Writes the events of one response. ``begin`` once, ``feed`` with each event of the turn; ``whole`` is the object at the end.
    ``output``: the closed items. ``finished_at``: set it to replay a response that ended earlier.
    """

    def __init__(self, head: ResponseHead, *, wants_summary: bool) -> None:
        self._head = head
        self._wants_summary = wants_summary
        self._number = 0
        self.output: list[Item] = []
        self.ended: Ended | None = None
        self.whole: Item | None = None
        self.finished_at: datetime | None = None
        self._is_thinking = False
        self._steps: list[str] = []
        self._waiting: list[str] = []
        self._raw = RawReasoning()
        self._sealed: str | None = None
        self._opened: Opened | None = None
        self._texts: list[str] = []

    def begin(self) -> Iterator[Event]:
        """The events that begin the response."""
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, response=response_object(self._head, []))

    def feed(self, event: ProgramEvent) -> Iterator[Event]:
        """The API events for one event of the turn."""
        if self.ended is not None:
            return
        match event:
            case Thinking() | Step() | Thought() | Sealed():
                yield from self._feed_thinking(event)
            case Called():
                yield from self._call(event)
            case Withdrawn() | Ended():
                yield from self._end(event if isinstance(event, Ended) else self._withheld())
            case Opened() | MoreProgramText() | Closed():
                yield from self._feed_answer(event)

    def _feed_answer(self, event: Opened | MoreProgramText | Closed) -> Iterator[Event]:
        match event:
            case Opened():
                self._opened, self._texts = event, []
            case MoreProgramText(text=text):
                yield from self._more(text)
            case Closed():
                yield from self._close(event)

    def _feed_thinking(self, event: Thinking | Step | Thought | Sealed) -> Iterator[Event]:
        match event:
            case Thinking():
                yield from self._think()
            case Step(text=text):
                yield from self._step(text)
            case Thought(text=text):
                yield from self._raw.more(self._event, self._thinking_place, text)
            case Sealed(token=token):
                self._sealed = token

    def _think(self) -> Iterator[Event]:
        if not self._is_thinking:
            self._steps, self._is_thinking = [], True
            yield self._event("response.output_item.added", output_index=self._index, item=reasoning_item(self._key, [], "in_progress"))

    def _step(self, text: str) -> Iterator[Event]:
        if not self._wants_summary:
            return
        if self._texts:
            self._waiting.append(text)  # no item begins inside a message
            return
        yield from self._think()
        place = self._thinking_place | {"summary_index": len(self._steps)}
        self._steps.append(text)
        yield self._event("response.reasoning_summary_part.added", **place, part=summary_part(""))
        yield self._event("response.reasoning_summary_text.delta", **place, delta=text)
        yield self._event("response.reasoning_summary_text.done", **place, text=text)
        yield self._event("response.reasoning_summary_part.done", **place, part=summary_part(text))

    def _end_thinking(self, status: str = "completed") -> Iterator[Event]:
        if self._is_thinking:
            yield from self._raw.end(self._event, self._thinking_place)
            item = reasoning_item(self._key, self._steps, status, self._raw.take(), self._sealed)
            self._is_thinking, self._sealed = False, None
            yield self._done(item)

    def _more(self, text: str) -> Iterator[Event]:
        if self._opened is None:
            return
        if not self._texts:
            yield from self._end_thinking()
            item = message_item(self._key, "", "in_progress", is_preamble=self._opened.is_preamble)
            yield self._event("response.output_item.added", output_index=self._index, item=item)
            yield self._event("response.content_part.added", **self._place, part=text_part(""))
        self._texts.append(text)
        yield self._event("response.output_text.delta", **self._place, delta=text, logprobs=[])

    def _close(self, closed: Closed) -> Iterator[Event]:
        opened, self._opened = self._opened, None
        if opened is None or not self._texts:
            return
        text = "".join(self._texts)
        yield self._event("response.output_text.done", **self._place, text=text, logprobs=[])
        yield self._event("response.content_part.done", **self._place, part=text_part(text))
        status = "completed" if closed.is_whole else "incomplete"
        yield self._done(message_item(self._key, text, status, is_preamble=closed.is_preamble))
        self._texts, waiting, self._waiting = [], self._waiting, []
        for step in waiting:
            yield from self._step(step)

    def _call(self, call: Called) -> Iterator[Event]:
        yield from self._end_thinking()
        yield self._event("response.output_item.added", output_index=self._index, item=call_item(self._key, call, "in_progress"))
        for kind, fields in call_events(self._key, self._index, call):
            yield self._event(kind, **fields)
        yield self._done(call_item(self._key, call))

    def _withheld(self) -> Ended:
        """Sent text cannot be withdrawn, so the response fails; at least the message is not repeated."""
        self._opened, self._texts = None, []
        return Ended("failed", ProductCode.WITHHELD)

    def _end(self, ended: Ended) -> Iterator[Event]:
        self.ended = ended
        yield from self._close(Closed(bool(self._opened and self._opened.is_preamble), is_whole=False))
        yield from self._end_thinking("completed" if ended.state == "completed" else "incomplete")
        self.whole = response_object(self._head, self.output, ended, self.finished_at or timezone.now())
        kind = _TERMINAL.get(self.whole["status"], "response.failed")
        if kind == "response.failed":
            yield self._event("error", error=of_code(ended.code).body())
        yield self._event(kind, response=self.whole)

    @property
    def _index(self) -> int:
        return len(self.output)

    @property
    def _key(self) -> str:
        return f"{self._head.id.hex}_{self._index}"

    @property
    def _thinking_place(self) -> dict[str, Any]:
        return {"item_id": f"rs_{self._key}", "output_index": self._index}

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": f"msg_{self._key}", "output_index": self._index, "content_index": 0}

    def _done(self, item: Item) -> Event:
        event = self._event("response.output_item.done", output_index=self._index, item=item)
        self.output.append(item)
        return event

    def _event(self, kind: str, **fields: Any) -> Event:
        number, self._number = self._number, self._number + 1
        return {"type": kind, "sequence_number": number, **fields}
