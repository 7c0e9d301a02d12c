"""Assembles a running turn's raw events into frames, and passes each finished frame to the writer without waiting.

Only ``saved``, at the end of the turn, waits for the database.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from django.utils import timezone

from chatui.codes import ProductCode, counted
from chatui.database.writer import writer
from chatui.models.keys import new_key
from chatui.models.message import Message
from chatui.observability.error_reports import log_without_content
from chatui.store import hidden_text
from chatui.turns import ledger
from chatui.turns.leases import leases
from chatui.turns.publisher import Publisher
from chatui.turns.running_turn import RunningTurn
from chatui.turns.stages import TextBeforeCut
from chatui.turns.summarizing import Summarizing
from renderer import characters
from renderer.errors import Code, ErrorCode
from renderer.events import Assembler, Finished, FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import is_answer
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.gate import Audience, may_see

log = logging.getLogger(__name__)

MAX_UNSAVED = 20


class FrameRecorder:
    """Records one turn, across all its samplings. ``feed`` takes the model's events, ``add`` the product's own frames."""

    def __init__(
        self, running: RunningTurn, publisher: Publisher, summary: Summarizing | None, failed: Callable[[BaseException], None]
    ) -> None:
        """``failed`` is called if a frame cannot be stored at all."""
        self.written: list[Frame] = []
        """The finished frames of the turn so far, in order."""
        # What a program has written is a message of its own, and the answer is what is new.
        self.before_cut = TextBeforeCut(None if running.ask.program else running.request.cut_answer, stays=running.cut_stays)
        """The stage that comes just before this."""
        self.has_answer = False
        self.is_answering = False
        """Whether the answer has begun, as far as anybody can tell now: it may turn out to be a preamble, or be withdrawn."""
        self.is_withheld = False
        """Whether text of the answer was hidden because it may not have been part of the answer."""
        self.is_malformed = False
        """Whether the last answer is not of the type that its ``<|constrain|>`` names."""
        self._codes: list[ErrorCode] = []
        self._running = running
        self._publisher = publisher
        self._summary = summary
        self._assembler = Assembler()
        self._key: UUID
        """The key of the frame that was opened last."""
        self._parents = [running.place_id or running.turn.question_id]
        self._pieces = running.pieces
        self._failed = failed
        self._unsaved: list[tuple[UUID, Finished]] = []
        self._saving: set[asyncio.Future[list[Message]]] = set()
        self._stored: list[Message] = []
        self._has_gaps = False

    @property
    def last_error(self) -> ErrorCode | None:
        """The error of the last faulty frame of the turn; None if all were fine."""
        return self._codes[-1] if self._codes else None

    @property
    def stored(self) -> list[Message] | None:
        """The turn's stored messages, once all frames are stored. None if they must be read from the database, because the result of a
        commit was lost."""
        return None if self._has_gaps else self._stored

    @property
    def open_header(self) -> Header | None:
        """The header of the frame that is being written; None if there is none."""
        frame = self._assembler.open_frame()
        return frame.header if frame is not None else None

    @property
    def has_thought(self) -> bool:
        return any(frame.header.channel == Channel.ANALYSIS for frame in self.written)

    @property
    def continues_text(self) -> bool:
        return bool(self.before_cut)

    @property
    def waits_for_tool(self) -> bool:
        """Whether the model called a tool in this turn and has had no reply."""
        calls = {frame.header.call_id for frame in self.written if frame.terminator is Terminator.CALL}
        return not calls <= {frame.header.call_id for frame in self.written if frame.header.role == Role.TOOL}

    def add(self, frame: Frame, error: ErrorCode | None = None) -> None:
        """Record a complete frame that the product wrote, such as a tool's reply. ``error``: the error that the frame reports."""
        for event in (FrameOpened(frame.header), FrameText(characters.storable(frame.body)), FrameClosed(frame.terminator, error)):
            self.feed(event)

    def save_now(self) -> None:
        """Pass the finished frames to the writer, even if all of them are hidden. Does not wait."""
        parents, unsaved = self.take_unsaved()
        if unsaved:
            self._parents = [unsaved[-1][0]]
            self._save(ledger.store_frames, parents, unsaved).add_done_callback(partial(self._on_saved, [key for key, _ in unsaved]))

    def take_unsaved(self) -> tuple[tuple[UUID, ...], list[tuple[UUID, Finished]]]:
        """The finished frames that the writer does not have yet, which the caller stores, and before them the possible parents."""
        parents, unsaved, self._unsaved = tuple(self._parents), self._unsaved, []
        return parents, unsaved

    def close_open_frame(self) -> None:
        """Close the open frame, if there is one, as truncated."""
        if self._assembler.open_frame() is not None:
            self.feed(FrameClosed(None, Code.STREAM_TRUNCATED))

    async def close(self) -> None:
        """End the turn's frames: an open frame is truncated, and the summary stored if it is not yet. The caller then stores the frames
        that ``take_unsaved`` returns."""
        if self._summary is not None:
            await self._summary.aclose()
        try:
            self.close_open_frame()
            self._write_summary()
        except Exception as error:  # noqa: BLE001 - a frame that cannot be stored or shown must not keep the turn from ending
            log_without_content(log, self._running.turn.pk, error)
        finally:
            if self._codes:
                log.warning("turn %s: frames with problems: %s", self._running.turn.pk, counted(self._codes))

    @property
    def are_saved(self) -> bool:
        return not self._saving

    async def saved(self) -> None:
        """Wait, without a limit, until all pending writes are done."""
        while self._saving:
            await asyncio.wait(self._saving)

    def release(self) -> None:
        """The turn is over, and need not hear of failures. Otherwise, all objects of the turn would refer to each other in a circle, and
        their memory would be freed only by the garbage collector, which visits the objects of all running turns for that."""
        self._failed = _ignored

    def note_stored(self, stored: Sequence[Message]) -> None:
        """Record that frames are stored. ``stored``: their messages; empty if an earlier commit had stored them already."""
        self._stored += stored
        # The writer returns nothing for frames that were already stored.
        self._has_gaps = self._has_gaps or not stored

    def feed(self, event: RawEvent) -> None:
        """Take the next event: it becomes a part of the open frame, a frame that it finishes is recorded, and followers get the event."""
        match event:
            case FrameOpened(header=header):
                self._key = new_key()
                self.is_answering = self.is_answering or is_answer(header)
            case FrameWithdrawn():
                self.is_answering = False
            case FrameClosed():
                self.is_answering = self.is_answering and not event.is_preamble_after_all
        finished = self._assembler.feed(event)
        self._pieces.take(event, self._key)
        try:
            if finished is not None:
                self._record(finished)
        finally:
            self._publisher.take(event, self._key)
        if isinstance(event, FrameWithdrawn):
            # Otherwise a process that dies within the next second would leave the withdrawn text where people may see it.
            leases.renew_now()
            if self.before_cut.is_open and (cut := self._running.cut_message_id):
                writer.post(hidden_text.hide_cut, cut, order=self._running.turn.pk).add_done_callback(self._on_hidden)

    def _record(self, finished: Finished) -> None:
        """Keep a finished frame until it is stored, and store what waits where it must: with a visible frame, or once too many wait."""
        if finished.error and finished.error is not ProductCode.ANSWER_NOW and finished.frame.header.role != Role.TOOL:
            self._codes.append(finished.error)
        self.is_withheld = self.is_withheld or finished.error is ProductCode.WITHHELD
        if not self.before_cut.is_exceeded_by(finished.frame) and may_see(finished.frame.header, Audience.END_USER):
            self._pieces.drop(self._key)
            return  # never store an empty answer, or the cut one again
        if is_answer(finished.frame.header):
            self._write_summary()
        ended = Finished(finished.frame, finished.complete, finished.error, finished.location, timezone.now())
        self._unsaved.append((self._key, ended))
        self.written.append(finished.frame)
        is_last = is_answer(finished.frame.header)  # as far as anybody can tell now
        # Hidden frames wait for the next visible frame, and an answer for the end of its turn, so that both are one write. Until then they
        # are stored in pieces.
        if (may_see(finished.frame.header, Audience.END_USER) and not is_last) or len(self._unsaved) == MAX_UNSAVED:
            self.save_now()
        if is_last:
            self.has_answer, self.is_malformed = True, finished.error is Code.BODY_CONSTRAINT_VIOLATION

    def _write_summary(self) -> None:
        """Store the lines that people saw, before the answer, or at the end of a turn without one."""
        if self._summary is not None and (lines := self._summary.lines()):
            self.save_now()
            key = self._pieces.summary
            self._save(ledger.store_summary, tuple(self._parents), key, lines).add_done_callback(self._on_summary_saved)
            # If this write fails, only the summary is lost: the answer is then stored under the frame before it.
            self._parents = [key, *self._parents]

    def _save(self, keep: Callable[..., list[Message]], *what: object) -> asyncio.Future[list[Message]]:
        saving = writer.post(keep, self._running, *what, order=self._running.turn.pk)
        self._saving.add(saving)
        saving.add_done_callback(self._saving.discard)
        return saving

    def _on_saved(self, keys: list[UUID], saving: asyncio.Future[list[Message]]) -> None:
        if saving.cancelled():
            return
        if error := saving.exception():
            self._failed(error)
            return
        self.note_stored(saving.result())
        for key in keys:
            self._pieces.drop(key)

    def _on_hidden(self, hiding: asyncio.Future[bool]) -> None:
        # If it fails, the cut answer is hidden when the withdrawn frame is stored.
        if not hiding.cancelled() and (error := hiding.exception()):
            log_without_content(log, self._running.turn.pk, error)

    def _on_summary_saved(self, saving: asyncio.Future[list[Message]]) -> None:
        if saving.cancelled():
            return
        if error := saving.exception():
            log_without_content(log, self._running.turn.pk, error)
        else:
            self.note_stored(saving.result())
            self._pieces.drop(self._pieces.summary)


def _ignored(error: BaseException) -> None:
    pass
