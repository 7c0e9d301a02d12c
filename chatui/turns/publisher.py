"""Sends a running turn's events to everybody who follows it, with snapshots for pages that join late."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from uuid import UUID

from chatui import wire
from chatui.turns import groups
from chatui.turns.stream import DebugStream, EndUserStream, publish
from renderer.events import RawEvent
from renderer.frames import Frame
from renderer.gate import Audience, VisibleText

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.05
WATCH_SECONDS = 75.0


class Publisher:
    """One for each turn. ``take`` and ``add_event`` collect; the task ``flush_often`` sends. A failing channel layer ends nothing."""

    def __init__(self, turn_id: UUID, conversation_id: UUID, *, is_continuation: bool = False) -> None:
        """``is_continuation``: the turn continues an answer, which ``show_before`` will provide."""
        self._turn_id = turn_id
        self._conversation_id = conversation_id
        self._people = EndUserStream(turn_id)
        self._debug = DebugStream(turn_id)
        self._news = asyncio.Event()
        self._publishing = asyncio.Lock()
        self._started = time.monotonic()
        self._watched_until = 0.0
        self._is_ready = not is_continuation

    def show_before(self, frames: Sequence[tuple[UUID, Frame]], cut: UUID | None) -> None:
        """The turn continues an answer of which ``frames`` are already shown. Until this is known, nobody is sent a snapshot."""
        self._people.show_before(frames, cut)
        self._is_ready = True

    def take(self, event: RawEvent, key: UUID) -> None:
        """A raw event of the frame ``key``, for each audience through its own gate."""
        self._people.take(event, key, self.elapsed())
        self._debug.take(event, key)
        self._news.set()

    def add_event(self, event: wire.Event) -> None:
        """An event of the turn itself, for people."""
        self._people.add_event(event)
        self._news.set()

    def step(self, text: VisibleText) -> None:
        """A line of the summary, for people."""
        self._people.step(text)
        self._news.set()

    def end_thinking(self) -> int | None:
        """The turn ends. Returns how many seconds it thought before it answered; None where nothing was hidden."""
        self._people.end_thinking(self.elapsed())
        return self._people.thought_seconds

    def watched(self) -> None:
        """Somebody with the permission is watching the hidden channels."""
        self._watched_until = time.monotonic() + WATCH_SECONDS

    def elapsed(self) -> int:
        """Milliseconds since the turn began."""
        return int((time.monotonic() - self._started) * 1000)

    async def flush_often(self) -> None:
        """Publish what is new, at most every FLUSH_SECONDS. Runs until it is cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.flush()
            await asyncio.sleep(FLUSH_SECONDS)

    async def flush(self) -> None:
        """Publish what is new. Under a lock, so that events and snapshots leave in the order of their numbers."""
        async with self._publishing:
            await self._publish(self._people.flush(), self._debug.flush())

    async def send_snapshot(self, audience: Audience, reply_to: str) -> None:
        """Send everything so far to one socket. A socket that gets no reply asks again."""
        if not self._is_ready:
            return
        async with self._publishing:
            # Nothing is awaited between the flush and the snapshot: what comes in between would be in it and be sent once more.
            people, debug = self._people.flush(), self._debug.flush()
            if audience is Audience.DEBUG:
                self.watched()
                snapshot: wire.Event = self._debug.snapshot()
            else:
                snapshot = self._people.snapshot(self.elapsed())
            reply = {"type": "turn.snapshot", "audience": audience.value, "json": wire.encode([snapshot])}
            await self._publish(people, debug)
            with self.without_layer():
                await groups.layer().send(reply_to, reply)

    @contextlib.contextmanager
    def without_layer(self) -> Iterator[None]:
        """Ignore a channel layer that is down or full: it must not end the turn, and pages catch up by a snapshot or a reload."""
        try:
            yield
        except groups.LAYER_ERRORS as error:
            log.warning("turn %s: the channel layer failed (%s)", self._turn_id, type(error).__name__)

    async def _publish(self, people: list[wire.Numbered], debug: list[wire.Numbered]) -> None:
        with self.without_layer():
            await publish(self._conversation_id, Audience.END_USER, people)
            if time.monotonic() < self._watched_until:
                await publish(self._conversation_id, Audience.DEBUG, debug)
