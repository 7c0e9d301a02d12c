"""The frames of a running turn: raw events are folded into frames, each finished frame is kept, and only then shown as closed."""

from __future__ import annotations

import asyncio
import logging
from uuid import UUID

from chatui.codes import ProductCode
from chatui.models.keys import new_key
from chatui.store import transcripts
from chatui.turns import ledger
from chatui.turns.continued_text import TextBeforeCut
from chatui.turns.database import with_retries
from chatui.turns.failures import log_without_content
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
    """One for each turn, through all samplings. ``feed`` takes what a model writes, ``add`` what the product adds; ``close`` ends it."""

    def __init__(self, job: Job, publisher: Publisher, summary: Summarizing) -> None:
        self.written: list[Frame] = []
        """What was kept of the turn so far, in order."""
        self.has_answer = False
        self.is_withheld = False
        """Whether a part of the answer was hidden that may have been none."""
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
        """A whole frame of the product's, such as a tool's reply."""
        for event in (FrameOpened(frame.header), FrameText(frame.body), FrameClosed(frame.terminator)):
            await self._take(self._summary.take(event))

    async def close(self) -> None:
        """The turn ends: a write that goes on is awaited, an open frame is kept as cut off, and the summary is kept if it was not.

        Raises:
            LeaseLostError: the turn is another's by now, and nothing may be written.
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
        except Exception as error:  # noqa: BLE001 - a frame that cannot be kept or shown must not cost the turn its end
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
                # What a person saw must be what is kept, so a frame is kept before it is shown as closed.
                await self._keep(finished)
        finally:
            # Also when Stop comes just now: the write goes on to its end, and the frame is closed.
            self._publisher.take(event, self._key)
        if isinstance(event, FrameWithdrawn):
            # Only now, so that nothing is sent meanwhile. Without it a process that dies would leave a checkpoint that is still for people.
            await with_retries(ledger.renew, self._job, self.checkpoint())

    async def _keep(self, finished: Finished) -> None:
        self.last_error = finished.error or self.last_error
        self.is_withheld = self.is_withheld or finished.error is ProductCode.WITHHELD
        if not self._before_cut.is_exceeded_by(finished.frame) and may_see(finished.frame.header, Audience.END_USER):
            return  # no empty answers, and none twice
        # Stop must not leave a row behind that the turn does not know of: the write is awaited to its end.
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
        """The lines that people saw stand in front of the answer; where there is none, at the end of the turn."""
        written: list[tuple[UUID, Finished]] = [(new_key(), item) for item in self._summary.finish()]
        if not written:
            return
        try:
            await with_retries(ledger.keep_summary, self._job, self._parent_id, written)
            self._parent_id = written[-1][0]
        except LeaseLostError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever fails here costs the summary, never the answer behind it
            log_without_content(log, self._job.turn_id, error)
