"""Assembles a running turn's raw events into frames. Each finished frame is stored, and only then shown as closed."""

from __future__ import annotations

import asyncio
import logging
from uuid import UUID

from chatui.codes import ProductCode
from chatui.error_reports import log_without_content
from chatui.models.keys import new_key
from chatui.store import transcripts
from chatui.turns import ledger
from chatui.turns.continued_text import TextBeforeCut
from chatui.turns.database import with_retries
from chatui.turns.ledger import Job, LeaseLostError
from chatui.turns.publisher import Publisher
from chatui.turns.summarizing import Summarizing
from renderer.errors import Code, ErrorCode, OpenChatMLError
from renderer.events import Assembler, Finished, FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import is_answer
from renderer.frames import Frame
from renderer.gate import Audience, may_see
from renderer.ocml import document

log = logging.getLogger(__name__)


class KeptFrames:
    """One for each turn, across all its samplings. ``feed`` takes what a model writes, ``add`` what the product adds; ``close`` ends it."""

    def __init__(self, job: Job, publisher: Publisher, summary: Summarizing) -> None:
        self.written: list[Frame] = []
        """The frames of the turn that are stored so far, in order."""
        self.has_answer = False
        self.is_withheld = False
        """Whether text of the answer was hidden because it may not have been part of the answer."""
        self.last_error: ErrorCode | None = None
        self._job = job
        self._publisher = publisher
        self._summary = summary
        self._before_cut = TextBeforeCut(job.cut_answer)
        self._assembler = Assembler()
        self._key = new_key()
        self._parent_id = job.place_id or job.question_id
        self._writing: asyncio.Future[None] | None = None

    @property
    def continues_text(self) -> bool:
        """Whether the turn continues an answer that has text already."""
        return bool(self._before_cut)

    async def feed(self, event: RawEvent) -> None:
        """The next event of a sampling."""
        if isinstance(event, FrameText):
            event = FrameText(transcripts.storable(event.text))
        for each in self._before_cut.feed(self._summary.take(event)):
            await self._take(each)

    async def add(self, frame: Frame) -> None:
        """A whole frame that the product wrote, such as a tool's reply."""
        for event in (FrameOpened(frame.header), FrameText(frame.body), FrameClosed(frame.terminator)):
            await self._take(self._summary.take(event))

    async def close(self) -> None:
        """End the turn's frames: finish a running write, store an open frame as cut off, and store the summary if that is still to do.

        Raises:
            LeaseLostError: another process has the turn by now, and nothing may be written.
        """
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)
        await self._summary.aclose()
        try:
            if self._assembler.open_frame() is not None:
                await self._take(FrameClosed(None, Code.STREAM_TRUNCATED))
            await self._write_summary()
        except LeaseLostError:
            raise
        except Exception as error:  # noqa: BLE001 - a frame that cannot be stored or shown must not keep the turn from ending
            log_without_content(log, self._job.turn_id, error)

    def checkpoint(self) -> str:
        """What the open frame holds so far, as OpenChatML; empty where there is nothing to save."""
        frame = self._assembler.open_frame()
        if frame is None or not frame.body:
            return ""
        try:
            return document.dump_frame(document.writable(frame))
        except OpenChatMLError:
            return ""

    async def _take(self, event: RawEvent) -> None:
        if isinstance(event, FrameOpened):
            self._key = new_key()
        finished = self._assembler.feed(event)
        try:
            if finished is not None:
                # What a person saw must be what is stored, so a frame is stored before it is shown as closed.
                await self._keep(finished)
        finally:
            # Also when Stop arrives at this moment: the write completes, and the frame is closed.
            self._publisher.take(event, self._key)
        if isinstance(event, FrameWithdrawn):
            # Only now, so that nothing is sent before. Without this a process that dies would leave a checkpoint that people may still see.
            await with_retries(ledger.renew, self._job, self.checkpoint())

    async def _keep(self, finished: Finished) -> None:
        self.last_error = finished.error or self.last_error
        self.is_withheld = self.is_withheld or finished.error is ProductCode.WITHHELD
        if not self._before_cut.is_exceeded_by(finished.frame) and may_see(finished.frame.header, Audience.END_USER):
            return  # no empty answer, and none stored twice
        # Stop must not leave a row behind that the turn does not know of, so the write always completes.
        self._writing = asyncio.ensure_future(self._write(finished))
        await asyncio.shield(self._writing)
        self.written.append(finished.frame)
        self.has_answer = self.has_answer or is_answer(finished.frame.header)

    async def _write(self, finished: Finished) -> None:
        if is_answer(finished.frame.header):
            await self._write_summary()
        await with_retries(ledger.keep, self._job, self._parent_id, self._key, finished)
        self._parent_id = self._key

    async def _write_summary(self) -> None:
        """Store the lines that people saw: before the answer, or at the end of a turn without one."""
        written: list[tuple[UUID, Finished]] = [(new_key(), item) for item in self._summary.finish()]
        if not written:
            return
        try:
            await with_retries(ledger.keep_summary, self._job, self._parent_id, written)
            self._parent_id = written[-1][0]
        except LeaseLostError:
            raise
        except Exception as error:  # noqa: BLE001 - a failure here may lose the summary, never the answer after it
            log_without_content(log, self._job.turn_id, error)
