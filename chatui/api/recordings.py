"""Records the events of a background response, for as long as a program may still fetch them.

They are as in a normal stream, but it begins as queued. The events of the turn are stored, not those of the stream: each reader has its own
writer, which numbers the same events in the same way. Withdrawn text is removed here as well; its events remain, without text.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from chatui.api.answering import Answering
from chatui.api.response_events import Event, ResponseEvents
from chatui.api.response_object import Item, ResponseHead, response_object
from chatui.codes import ProductCode
from chatui.observability.error_reports import log_without_content
from chatui.turns.streams.program import Ended, MoreProgramText, Opened, ProgramEvent, Sealed, Thought, Withdrawn
from renderer.gate import VisibleText

log = logging.getLogger(__name__)


class BackgroundEvents(ResponseEvents):
    """The response is queued until the model writes its first event."""

    _has_begun = False

    def begin(self) -> Iterator[Event]:
        for kind in ("response.created", "response.queued"):
            yield self._event(kind, response=queued(self._head))

    def feed(self, event: ProgramEvent) -> Iterator[Event]:
        if not self._has_begun:
            self._has_begun = True
            yield self._event("response.in_progress", response=response_object(self._head, []))
        yield from super().feed(event)


def queued(head: ResponseHead) -> Item:
    return response_object(head, []) | {"status": "queued"}


TEXT_SECONDS = 0.05
"""Text within this time becomes one delta: a token costs far more as an event than as text."""
KEPT_SECONDS = 600.0
"""How long after its end a response can still be streamed. Afterwards it can only be read as a whole."""
MAX_STORED = 200
"""The most ended recordings that are stored; the one that ended first is dropped first."""
MAX_READERS = 8
"""The most concurrent readers of one person's responses."""

NOTHING = VisibleText.joined(())


class Recording:
    """The recorded events of one background response, kept for some time after its end."""

    def __init__(self, answer: Answering, new_writer: Callable[[], BackgroundEvents]) -> None:
        """``new_writer``: creates a writer for each reader; all write the same events."""
        self.owner_id = answer.key.owner.pk
        self.views_hidden = answer.program.stream.sends_reasoning
        self.events: list[ProgramEvent] = []
        self._answer = answer
        self._new_writer = new_writer
        self._news = asyncio.Event()
        self._finished_at: datetime | None = None

    @property
    def has_begun(self) -> bool:
        return bool(self.events)

    @property
    def visible_events(self) -> list[ProgramEvent]:
        """The events so far that every key may see which may read the response: none with reasoning, raw or sealed."""
        return [event for event in self.events if not isinstance(event, Thought | Sealed)]

    async def record(self) -> None:
        try:
            async with aclosing(self._answer.events()) as events:
                async for event in events:
                    if event is not None:
                        self._add(event)
                    if isinstance(event, MoreProgramText):
                        await self._answer.program.stream.rest(TEXT_SECONDS)
        except Exception as error:  # noqa: BLE001 - readers are notified of any error
            log_without_content(log, self._answer.asked.client_id, error)
        finally:
            if self._finished_at is None:
                self._add(Ended("failed", ProductCode.INTERNAL))

    async def follow(self, after: int, wait: Callable[[], float]) -> AsyncGenerator[Event | None, None]:
        """The events whose numbers are greater than ``after``, up to the end; None after ``wait()`` seconds without an event."""
        readers[self.owner_id] += 1
        try:
            writer, place = self._new_writer(), 0
            for body in writer.begin():
                if body["sequence_number"] > after:
                    yield body
            while writer.ended is None:
                if place == len(self.events):
                    await self._more(wait())
                    yield None
                    continue
                writer.finished_at = self._finished_at
                for body in writer.feed(self.events[place]):
                    if body["sequence_number"] > after:
                        yield body
                place += 1
        finally:
            readers[self.owner_id] -= 1

    async def _more(self, seconds: float) -> None:
        news = self._news
        try:
            async with asyncio.timeout(seconds):
                await news.wait()
        except TimeoutError:
            pass

    def _add(self, event: ProgramEvent) -> None:
        if isinstance(event, Withdrawn):
            self._forget_open()
        if isinstance(event, Ended):
            self._finished_at = timezone.now()
        self.events.append(event)
        self._news.set()
        self._news = asyncio.Event()

    def _forget_open(self) -> None:
        """Remove withdrawn text for later readers. The numbers stay the same: each delta remains, without text."""
        opened = max((index for index, event in enumerate(self.events) if isinstance(event, Opened)), default=0)
        for index in range(opened, len(self.events)):
            event = self.events[index]
            if isinstance(event, MoreProgramText):
                self.events[index] = replace(event, text=NOTHING)


readers: Counter[UUID] = Counter()
"""The number of readers of each person's responses."""
_recordings: dict[UUID, Recording] = {}
_recording: set[asyncio.Task[None]] = set()
_ended: dict[UUID, asyncio.TimerHandle] = {}


def record(answer: Answering, new_writer: Callable[[], BackgroundEvents]) -> Recording:
    """Begin recording a turn, which continues without any reader."""
    key = answer.asked.client_id
    recording = _recordings[key] = Recording(answer, new_writer)
    task = asyncio.create_task(recording.record(), name=f"background {key}")
    _recording.add(task)  # the event loop keeps only a weak reference
    task.add_done_callback(_recording.discard)
    task.add_done_callback(lambda _: _keep(key))
    return recording


def recording_of(answer_id: UUID) -> Recording | None:
    """The recording of a response. None if there is none in this process. The caller has checked access."""
    return _recordings.get(answer_id)


def _keep(key: UUID) -> None:
    _ended[key] = asyncio.get_running_loop().call_later(KEPT_SECONDS, forget, key)
    while len(_ended) > MAX_STORED:
        forget(next(iter(_ended)))


def forget(key: UUID) -> None:
    """Drop the recording of a response; current readers can finish."""
    _recordings.pop(key, None)
    if timer := _ended.pop(key, None):
        timer.cancel()
