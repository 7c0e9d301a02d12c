"""Publishes a running turn's events to everybody who follows it, with snapshots for pages that join late.

New events go to this process's sockets in the same event loop step, but at most once per FLUSH_SECONDS, and with a bounded amount of text,
so that other turns are not held up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from chatui import wire
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.display import activities
from chatui.display.conversation import ShownPart
from chatui.observability.error_reports import log_without_content
from chatui.permissions import files
from chatui.turns.running_turn import RunningTurn
from chatui.turns.streams.debug import DebugStream
from chatui.turns.streams.end_user import EndUserStream
from chatui.turns.streams.stored import messages_of
from chatui.wire import bus as wire_bus
from chatui.wire.bus import PROCESS, Message, bus
from renderer.activities.activity import Activity
from renderer.activities.requests import Request
from renderer.events import RawEvent
from renderer.gate import Audience
from renderer.markup.citations import CitableSource

log = logging.getLogger(__name__)

T = TypeVar("T")

FLUSH_SECONDS = 0.03
"""Shorter than the time between two reads from a model server, so that each read is sent in the step that received it."""
CLOSE_SECONDS = 0.1
"""How long the end of a message waits for the end of its turn, so that both are sent together. Its text has been sent."""
SAVING_SECONDS = 1.0
"""After this long, pages show that the answer is being saved."""
BEAT_SECONDS = 2.0
"""After this long without an event, pages get one that says that the turn is still running, with its latest sequence number."""
FOLLOWED_SECONDS = 75.0
"""How long events are sent to another process after it reported a follower."""
FIRST_SECONDS = 2.0
"""How long events are kept for followers in other processes, which report themselves on a turn's first event; and how long after its end
events are sent to every process."""

_FOLLOWED = (Audience.END_USER, Audience.DEBUG)
"""The audiences that follow over sockets. The program that sent the request has its own stream."""


class Publisher:
    """Publishes one turn. ``take`` and ``add_event`` collect events and schedule a flush; ``stop`` ends that."""

    def __init__(self, running: RunningTurn, first: int = 1) -> None:
        """``first``: the number of the first event."""
        turn_id, is_continuation = running.turn.pk, running.continued_turn is not None
        self._program = running.ask.program.stream if running.ask.program else None
        self._turn_id, self._conversation = turn_id, running.turn.conversation
        self._asking: dict[tuple[str, str], asyncio.Task[None]] = {}
        """The snapshots that wait for the rights of their readers, by process and group."""
        self._from = {"type": "turn.events", "turn": str(turn_id), "process": PROCESS}
        self._group = {audience: wire_bus.audience(running.turn.conversation_id, audience) for audience in _FOLLOWED}
        self._over = {audience: wire_bus.over(running.turn.conversation.owner_id, audience) for audience in _FOLLOWED}
        self._people = EndUserStream(turn_id, first, can_answer_now=not is_continuation)
        self._debug = DebugStream(turn_id)
        self._bus = bus()
        self._loop = asyncio.get_running_loop()
        self._started = time.monotonic()
        self._first_until = self._loop.time() + FIRST_SECONDS if self._bus.reaches_others else 0.0
        self._elsewhere_until = {Audience.END_USER: float("inf") if self._bus.reaches_others else 0.0, Audience.DEBUG: 0.0}
        """Without an end before an event that every process gets: the first, and, until somebody follows there, one after each beat."""
        self._kept: list[Message] = []
        """What was sent here alone since the first event, and not withdrawn since."""
        self._watched_until = 0.0 if self._program else self._first_until
        self._ended_unwatched = False
        """Nobody watched when the turn began to end. Pages that open later load the stored answer, or ask for a snapshot."""
        self._is_ready = not is_continuation
        self._is_stopped = False
        self._unsent: list[wire.Numbered] = []
        self._next_flush: asyncio.Handle | None = None
        self._last_flush = self._next_at = 0.0
        self._is_taking = self._is_due = False
        """Whether what was read together is being taken, and whether it is to be flushed at once."""
        self._next_beat = self._loop.call_later(BEAT_SECONDS, self._beat)

    async def show_before(self, running: RunningTurn) -> None:
        """Render the part of the continued answer that is already visible. No snapshot is sent before this is done."""
        frames = running.shown_before
        messages = await asyncio.to_thread(messages_of, frames, running.cut_message_id, self.pages) if frames else []
        steps = tuple(map(activities.line, running.steps_before))
        self._people.show_before(messages, running.cut_message_id, running.thought_before or 0, steps, stays=running.cut_stays)
        self._is_ready = True

    @property
    def pages(self) -> dict[int, CitableSource]:
        """The pages that the answer may cite, by cursor. A tool that opens a page adds it here."""
        return self._people.pages

    def take(self, event: RawEvent, key: UUID) -> None:
        """Pass a raw event of the frame ``key`` to each audience's stream, which has its own gate."""
        self._people.take(event, key, self.elapsed())
        self._debug.take(event, key)
        if self._program is not None:
            self._program.take(event, key)
        self._flush_soon()

    def take_together(self, passes_on: Callable[[], bool]) -> bool:
        """Take everything that was read together, which ``passes_on`` passes on, and send it in this step. If the answer ends or fails with
        it, in the next: what follows may withdraw some of it."""
        self._is_taking, is_over = True, True
        try:
            is_over = passes_on()
        finally:
            self._is_taking = False
            if self._is_due:
                self._is_due = False
                self._flush_at(0.0) if is_over else self._safely(self.flush)
        return is_over

    def begin(self, event: wire.Event) -> None:
        """Send people the event that begins the turn, at once: what the same step has sent to a page then travels in the same frame."""
        self._people.add_event(event)
        self._flush_safely()

    def add_event(self, event: wire.Event) -> None:
        """Send people an event about the turn itself."""
        self._people.add_event(event)
        self._flush_soon()

    def step(self, activity: Activity) -> None:
        """Send people, and the program, a line of the summary."""
        self._people.step(activities.line(activity))
        if self._program is not None:
            self._program.step(activities.english(activity))
        self._flush_soon()

    def show_asked(self, request: Request | None) -> None:
        """Show people what was asked for, told from the question alone. No program gets it, and it is stored nowhere."""
        self.add_event(activities.asked_for(request))

    def end_thinking(self) -> int | None:
        """End the thinking, because the turn ends. Returns how many seconds it took; None if nothing was hidden."""
        self._people.end_thinking(self.elapsed())
        return self._people.thought_seconds

    def note_follower(self, audience: Audience) -> None:
        """Note that somebody of this audience follows in another process. For DEBUG, that process has checked the permission."""
        if self._kept and audience is Audience.END_USER:
            self._safely(self.flush)  # what was withdrawn just now is not kept any more
        self._elsewhere_until[audience] = self._loop.time() + FOLLOWED_SECONDS
        if audience is Audience.END_USER:
            self._watched_until = self._elsewhere_until[audience]
            if self._loop.time() < self._first_until:
                for message in self._kept:
                    self._bus.send_elsewhere(self._group[audience], message, self._over[audience])
            self._kept.clear()

    @property
    def is_followed(self) -> bool:
        """Whether what is sent to people now reaches a page."""
        return self._is_heard(Audience.END_USER)

    @property
    def is_watched(self) -> bool:
        """Whether any person's page shows the turn, as far as this process knows. A page that opens it later gets a snapshot."""
        if self._ended_unwatched:
            return False
        return self._bus.is_heard(self._group[Audience.END_USER]) or self._loop.time() < self._watched_until

    @property
    def is_shown_whole(self) -> bool:
        """Whether pages watch the turn, and all text so far is rendered for them."""
        return self.is_watched and not self._people.has_unshown

    def shown(self) -> tuple[ShownPart, ...]:
        return tuple(ShownPart(message.message_id, message.kind, ()) for message in self._people.done)

    def elapsed(self) -> int:
        """Milliseconds since the turn began, or since it left the queue."""
        return int((time.monotonic() - self._started) * 1000)

    def flush(self) -> None:
        self._last_flush = self._loop.time()
        if self._next_flush is not None:
            self._next_flush.cancel()
            self._next_flush = None
        self._collect()
        if events := self._unsent:
            self._unsent = []
            self._send(Audience.END_USER, events)
        if events := self._debug.flush(is_watched=self._is_heard(Audience.DEBUG)):
            self._send(Audience.DEBUG, events)
        if self._people.has_unshown and self.is_watched:
            self._flush_soon()
        elif self._people.waits_until is not None:
            self._flush_at(self._people.waits_until)

    async def catch_up(self) -> None:
        """Flush until all text so far is sent; not if nobody watches."""
        # If only the end of a message waits, the next flush sends it, at the latest in CLOSE_SECONDS.
        is_well = self._safely(self._collect if self._people.only_ends else self.flush)
        if not self.is_watched:
            self._ended_unwatched = True
        while is_well and self.is_watched and self._people.has_unshown:
            await asyncio.sleep(0)  # other turns go on
            is_well = self._safely(self.flush)

    def end(self, event: wire.TurnEnded) -> None:
        """Send the turn's end to all processes."""
        self._elsewhere_until[Audience.END_USER] = self._loop.time() + FIRST_SECONDS
        self._people.add_event(event)
        self.flush()

    def stop(self) -> None:
        """Send what waits for the end of the turn, and nothing from now on."""
        if self._unsent:
            self._safely(self.flush)
        self._is_stopped = True
        self._next_beat.cancel()
        if self._next_flush is not None:
            self._next_flush.cancel()

    def set_position(self, place: int) -> None:
        """Send the turn's position in the queue if it has changed; 0: it no longer waits."""
        if place != self._people.place:
            if not place:
                self._started = time.monotonic()
            self.add_event(wire.Queued(place))

    def set_waiting_calls(self, count: int) -> None:
        """Send how many calls now wait for the person's decision. Pages then fetch their cards: the calls are never sent this way."""
        self._people.set_waiting_calls(count, self.elapsed())
        self._flush_soon()

    def set_notices(self, count: int) -> None:
        """Send how many texts of tools' servers there are for the person. Pages then fetch them, as they fetch cards."""
        self._people.set_notices(count)
        self._flush_soon()

    def note_answer_now(self) -> None:
        """The person has pressed "Answer now", which works only once per turn."""
        self._people.note_answer_now(self.elapsed())
        self._flush_soon()

    async def saving(self, write: asyncio.Future[T]) -> T:
        """Wait for a write of the answer, and tell pages if that takes long. It continues even if this wait is cancelled."""
        show_saving = self._loop.call_later(SAVING_SECONDS, self.add_event, wire.Delayed("chatui:saving"))
        try:
            return await write
        finally:
            show_saving.cancel()

    def send_snapshot(self, audience: Audience, process: str, group: str) -> None:
        """Send everything so far to ``group``, which belongs to one socket in ``process``. A socket that gets no reply asks again."""
        if not self._is_ready:
            return
        if audience is Audience.END_USER and (named := self._people.named_documents()):
            to = (process, group)
            if to not in self._asking:
                self._asking[to] = asyncio.create_task(self._send_permitted(named, process, group))
                self._asking[to].add_done_callback(lambda _: self._asking.pop(to))
        else:
            self._send_snapshot(audience, process, group)

    async def _send_permitted(self, named: Mapping[int, CitableSource], process: str, group: str) -> None:
        """Send people a snapshot that does not name documents that they may not open any more. ``named``: those that it may name."""
        untitled = {cursor: CitableSource(page.url, "") for cursor, page in named.items()}
        try:
            permitted = await pools.turns.run_or_busy(files.titled, self._conversation, untitled)
        except DatabaseBusyError:
            return
        except Exception as error:  # noqa: BLE001 - the page asks again
            log_without_content(log, self._turn_id, error)
            return
        self.pages.update({cursor: page for cursor, page in permitted.items() if not page.title and self.pages[cursor] is named[cursor]})
        self._send_snapshot(Audience.END_USER, process, group)

    def _send_snapshot(self, audience: Audience, process: str, group: str) -> None:
        if self._is_stopped:
            return  # whoever asks again gets the stored answer
        if process != PROCESS:
            self.note_follower(audience)
        self._ended_unwatched = False
        # Right after a flush, so that no later event repeats what the snapshot contains.
        self.flush()
        if self.is_watched and self._people.has_unshown:
            # A long text that nobody watched: other turns go on between its steps.
            self._loop.call_soon(self._send_snapshot, audience, process, group)
            return
        snapshot: wire.Event = self._debug.snapshot() if audience is Audience.DEBUG else self._people.snapshot(self.elapsed())
        self._bus.send_to(process, group, {"type": "turn.snapshot", "audience": audience.value, "json": wire.encode([snapshot])})

    def _flush_soon(self) -> None:
        """Flush at the end of this event loop step, when all its events are collected, but at least FLUSH_SECONDS after the last flush. The
        first words of a message do not wait: the flush just before them nearly always said only that the model is thinking. The end of a
        message waits longest."""
        if self._people.only_ends:
            self._flush_at(self._loop.time() + CLOSE_SECONDS)
        else:
            self._flush_at(0.0 if self._people.begins else self._last_flush + FLUSH_SECONDS)

    def _flush_at(self, at: float) -> None:
        """Flush then, if not sooner."""
        if self._is_stopped or self._is_due or (self._next_flush is not None and self._next_at <= at):
            return
        is_later = at > self._loop.time()
        if self._is_taking and not is_later:
            self._is_due = True
            return
        if self._next_flush is not None:
            self._next_flush.cancel()
        self._next_at = at
        self._next_flush = self._loop.call_at(at, self._flush_safely) if is_later else self._loop.call_soon(self._flush_safely)

    def _collect(self) -> None:
        """Take the new events for people, to be sent by the next flush."""
        self._unsent += self._people.flush(is_watched=self.is_watched, now=self._loop.time())

    def _flush_safely(self) -> None:
        self._next_flush = None
        self._safely(self.flush)

    def _safely(self, work: Callable[[], None]) -> bool:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the answer is stored all the same, and the page loads it from there
            log_without_content(log, self._turn_id, error)
            return False
        return True

    def _beat(self) -> None:
        if self._bus.reaches_others and not self._is_heard_elsewhere(Audience.END_USER):
            # The event that told other processes of the turn is lost if Redis was away for a moment.
            self._elsewhere_until[Audience.END_USER] = float("inf")
        silent = self._loop.time() - self._last_flush
        if self._unsent:
            self._safely(self.flush)
            silent = 0.0
        elif silent >= BEAT_SECONDS:
            self._last_flush, silent = self._loop.time(), 0.0
            self._send(Audience.END_USER, [self._people.beat()])
        self._next_beat = self._loop.call_later(BEAT_SECONDS - silent, self._beat)

    def _send(self, audience: Audience, events: Sequence[wire.Event | wire.Numbered]) -> None:
        """Encode events once for everybody in this audience, and not at all if nobody is listening, nor may have been about to."""
        group, elsewhere = self._group[audience], self._is_heard_elsewhere(audience)
        keeps = audience is Audience.END_USER and not elsewhere and self._loop.time() < self._first_until
        if not (keeps or elsewhere or self._bus.is_heard(group)):
            return
        message = {**self._from, "json": wire.encode(events)}
        self._bus.send(group, message, elsewhere=elsewhere, over=self._over[audience])
        if any(isinstance(event, wire.Numbered) and isinstance(event.event, wire.MessageWithdrawn) for event in events):
            self._kept.clear()  # a page elsewhere notices the gap, and asks for a snapshot
        if keeps:
            self._kept.append(message)
        elif self._elsewhere_until[audience] == float("inf"):
            self._elsewhere_until[audience] = 0.0

    def _is_heard(self, audience: Audience) -> bool:
        return self._bus.is_heard(self._group[audience]) or self._is_heard_elsewhere(audience)

    def _is_heard_elsewhere(self, audience: Audience) -> bool:
        return self._elsewhere_until[audience] > 0 and self._loop.time() < self._elsewhere_until[audience]
