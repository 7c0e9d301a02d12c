"""Publishes a running turn's events to everybody who follows it, with snapshots for pages that join late.

What is new is handed to the sockets of this process in the step that brought it, at most every FLUSH_SECONDS. Only what takes long to
render is rendered in a thread first, so that other turns go on meanwhile.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

from chatui import wire
from chatui.delivery import groups
from chatui.delivery.bus import PROCESS, bus
from chatui.display.conversation import ShownPart
from chatui.error_reports import log_without_content
from chatui.turns.ledger import Job
from chatui.turns.streams.debug import DebugStream
from chatui.turns.streams.end_user import EndUserStream
from chatui.turns.streams.program import ProgramStream
from chatui.turns.streams.rendering import Rendering, messages_of
from renderer.events import RawEvent
from renderer.gate import Audience, VisibleText
from renderer.markup.citations import Cited

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.03
"""Shorter than the time between two reads of a model server, so that what one brings is sent in the same step."""
BEAT_SECONDS = 2.0
"""After so long without an event, pages get one that says that the turn still runs, with its latest number."""
FOLLOWED_SECONDS = 75.0
"""How long another process is sent events after it reported a follower."""
FIRST_SECONDS = 2.0
"""How long a new turn's events are sent to every process: a follower there can only report itself afterwards."""
CATCH_UP_SECONDS = 30.0
"""The longest that a turn's end waits for its text to be rendered: many times what the longest answer takes."""

_FOLLOWED = (Audience.END_USER, Audience.DEBUG)
"""Who follows over sockets. The program that asked has a stream of its own."""

SWITCH_SECONDS = 0.001
"""How long a thread keeps the interpreter while the event loop wants it: the loop waits so long after each of its system calls."""

_renderer = ThreadPoolExecutor(1, thread_name_prefix="rendering", initializer=sys.setswitchinterval, initargs=(SWITCH_SECONDS,))
"""One thread, as rendering is all Python, and more of them would only take more from the event loop. Turns take their turns in steps."""


class Publisher:
    """One for each turn. ``take`` and ``add_event`` collect and see to it that what they collected is sent; ``stop`` ends that."""

    def __init__(
        self, turn_id: UUID, conversation_id: UUID, *, is_continuation: bool = False, program: ProgramStream | None = None
    ) -> None:
        """``is_continuation``: the turn continues an answer, which ``show_before`` will provide. ``program``: of the one that asked."""
        self._program = program
        self._turn_id = turn_id
        self._group = {audience: groups.audience(conversation_id, audience) for audience in _FOLLOWED}
        self._people = EndUserStream(turn_id, can_answer_now=not is_continuation)
        self._debug = DebugStream(turn_id)
        self._compactor = wire.Compactor()
        self._bus = bus()
        self._loop = asyncio.get_running_loop()
        self._started = time.monotonic()
        first_until = self._loop.time() + FIRST_SECONDS if self._bus.reaches_others else 0.0
        self._elsewhere_until = {Audience.END_USER: first_until, Audience.DEBUG: 0.0}
        self._watched_until = 0.0 if program else first_until
        self._is_left = False
        """Nobody watched when the turn began to end. Who comes then is shown the stored answer, or asks for a snapshot."""
        self._is_ready = not is_continuation
        self._rendering: asyncio.Future[None] | None = None
        self._is_stopped = False
        self._next_flush: asyncio.Handle | None = None
        self._last_flush = self._next_at = 0.0
        self._next_beat = self._loop.call_later(BEAT_SECONDS, self._beat)

    async def show_before(self, job: Job) -> None:
        """What is already shown of the answer that the turn continues. Until this is known, nobody is sent a snapshot."""
        frames = job.shown_before
        messages = await self._loop.run_in_executor(_renderer, messages_of, frames, job.cut_message_id, self.pages) if frames else []
        self._people.show_before(messages, job.cut_message_id)
        self._people.thought_before(job.thought_before or 0, job.steps_before)
        self._is_ready = True

    @property
    def pages(self) -> dict[int, Cited]:
        """What the answer may cite, by cursor. A tool that opens a page adds it."""
        return self._people.pages

    def take(self, event: RawEvent, key: UUID) -> None:
        """A raw event of the frame ``key``, for each audience through its own gate."""
        self._people.take(event, key, self.elapsed())
        self._debug.take(event, key)
        if self._program is not None:
            self._program.take(event)
        self._flush_soon()

    def add_event(self, event: wire.Event) -> None:
        """An event of the turn itself, for people."""
        self._people.add_event(event)
        self._flush_soon()

    def step(self, text: VisibleText) -> None:
        """A line of the summary, for people."""
        self._people.step(text)
        if self._program is not None:
            self._program.step(text)
        self._flush_soon()

    def end_thinking(self) -> int | None:
        """Ends the thinking, because the turn ends. Returns how many seconds it took; None if nothing was hidden."""
        self._people.end_thinking(self.elapsed())
        return self._people.thought_seconds

    def followed(self, audience: Audience) -> None:
        """Somebody of this audience follows in another process. For DEBUG, that process has checked the permission."""
        self._elsewhere_until[audience] = self._loop.time() + FOLLOWED_SECONDS
        if audience is Audience.END_USER:
            self._watched_until = self._elsewhere_until[audience]

    @property
    def is_watched(self) -> bool:
        """Whether a page of a person shows the turn, as far as is known here. One that opens it later is sent a snapshot."""
        if self._is_left:
            return False
        return self._bus.is_heard(self._group[Audience.END_USER]) or self._loop.time() < self._watched_until

    @property
    def is_shown_whole(self) -> bool:
        """Whether all text that was taken is rendered for pages."""
        return self.is_watched and not self._people.has_unshown

    def shown(self) -> tuple[ShownPart, ...]:
        """The messages that people see of the answer, without their text."""
        return tuple(ShownPart(key, kind, ()) for key, kind in self._people.shown())

    def elapsed(self) -> int:
        """Milliseconds since the turn began."""
        return int((time.monotonic() - self._started) * 1000)

    def flush(self) -> None:
        """Send what is new."""
        self._last_flush = self._loop.time()
        if self._next_flush is not None:
            self._next_flush.cancel()
            self._next_flush = None
        self._send(Audience.END_USER, self._people.flush(is_watched=self.is_watched))
        self._send(Audience.DEBUG, self._debug.flush())
        self._render()

    async def catch_up(self) -> None:
        """Flush until everything is sent that was taken, though no longer than CATCH_UP_SECONDS."""
        until = self._loop.time() + CATCH_UP_SECONDS
        self._flush_safely()
        if not self.is_watched:
            self._people.note_thinking()
            self._is_left = True
            return
        while self._people.is_behind and self._rendering is not None and self._loop.time() < until:
            await asyncio.wait([self._rendering], timeout=until - self._loop.time())
            self._flush_safely()

    def end(self, event: wire.TurnEnded) -> None:
        """Send the turn's end, to all processes."""
        self._elsewhere_until[Audience.END_USER] = self._loop.time() + FIRST_SECONDS
        self._people.add_event(event)
        self.flush()

    def stop(self) -> None:
        """Send nothing more."""
        self._is_stopped = True
        self._next_beat.cancel()
        if self._next_flush is not None:
            self._next_flush.cancel()

    def queued(self, place: int) -> None:
        """The turn waits for others; 0: not any more. Told only where the place is another one."""
        if self._people.queue(place):
            self._flush_soon()

    def calls_wait(self, count: int) -> None:
        """So many calls wait for the person now: pages fetch their cards. The calls themselves never come this way."""
        self._people.calls_wait(count, self.elapsed())
        self._flush_soon()

    def files_came(self, count: int) -> None:
        """So many files of tools are there for the person now: pages fetch them."""
        self._people.files_came(count)
        self._flush_soon()

    def answers_now(self) -> None:
        """The person asked for the answer at once, and cannot do so again."""
        self._people.answers_now(self.elapsed())
        self._flush_soon()

    def saving(self) -> None:
        """The answer is whole, but the database is slow to take it."""
        self.add_event(wire.Saving())

    def send_snapshot(self, audience: Audience, process: str, group: str) -> None:
        """Send everything so far to the ``group`` of one socket in a process. A socket that gets no reply asks again."""
        if not self._is_ready:
            return
        if process != PROCESS:
            self.followed(audience)
        self._is_left = False
        # Right after a flush, so that what comes next is not in it already.
        self.flush()
        self._compactor.forget()
        snapshot: wire.Event = self._debug.snapshot() if audience is Audience.DEBUG else self._people.snapshot(self.elapsed())
        self._bus.send_to(process, group, {"type": "turn.snapshot", "audience": audience.value, "json": wire.encode([snapshot])})

    def _flush_soon(self) -> None:
        """In this step of the event loop, when all that came with it is taken; but not sooner than FLUSH_SECONDS after the last flush. The
        first words of a message wait for nothing: what was sent just before is nearly always that the model thinks."""
        at = 0.0 if self._people.begins else self._last_flush + FLUSH_SECONDS
        if self._is_stopped or (self._next_flush is not None and self._next_at <= at):
            return
        if self._next_flush is not None:
            self._next_flush.cancel()
        self._next_at, wait = at, at - self._loop.time()
        self._next_flush = self._loop.call_later(wait, self._flush_safely) if wait > 0 else self._loop.call_soon(self._flush_safely)

    def _flush_safely(self) -> None:
        self._next_flush = None
        try:
            self.flush()
        except Exception as error:  # noqa: BLE001 - the answer is stored all the same, and the page loads it from there
            log_without_content(log, self._turn_id, error)

    def _render(self) -> None:
        """Have a thread render what would take this one too long."""
        work = None if self._is_stopped else self._people.take_rendering()
        if work is not None:
            self._rendering = self._loop.run_in_executor(_renderer, _rendering, work)
            self._rendering.add_done_callback(partial(self._rendered, work))

    def _rendered(self, work: Rendering, done: asyncio.Future[None]) -> None:
        if self._rendering is done:
            self._rendering = None
        if not done.cancelled() and (error := done.exception()):
            log_without_content(log, self._turn_id, error)
        self._people.rendered(work)
        self._flush_soon()

    def _beat(self) -> None:
        silent = self._loop.time() - self._last_flush
        if silent >= BEAT_SECONDS:
            self._last_flush, silent = self._loop.time(), 0.0
            self._send(Audience.END_USER, [self._people.beat()])
        self._next_beat = self._loop.call_later(BEAT_SECONDS - silent, self._beat)

    def _send(self, audience: Audience, events: Sequence[wire.Event | wire.Numbered]) -> None:
        """Encoded once for everybody in this audience, and not at all where nobody is there."""
        group, is_elsewhere = self._group[audience], self._loop.time() < self._elsewhere_until[audience]
        if events and (is_elsewhere or self._bus.is_heard(group)):
            frame = self._compactor.encode(events) if audience is Audience.END_USER else wire.encode(events)
            message = {"type": "turn.events", "turn": str(self._turn_id), "process": PROCESS, "json": frame}
            self._bus.send(group, message, elsewhere=is_elsewhere)


def _rendering(work: Rendering) -> None:
    """Render in the thread. No garbage is collected meanwhile: a walk over all tokens of a long text would stop every thread for 50 ms."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        work.run()
    finally:
        if was_collecting:
            gc.enable()
