""" "Answer now": stops a turn's reasoning early, and samples the model again for the answer alone.

The next request is that of "Finish the answer" (``backends.continuation``): in words, at low effort, and without the reasoning that was
cut. A prompt must never open the answer behind cut reasoning: models went on reasoning there, for everybody to read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from chatui.backends.base import BackendError, SampleRequest
from chatui.codes import ProductCode
from chatui.turns.frame_recorder import FrameRecorder
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANSWER, BROKEN, is_answer
from renderer.frames import Channel, Frame, Header
from renderer.gate import Audience, may_see, visible


class AnswerNow:
    """One for each turn. ``press`` at any time, and any number of times: only the first one while the model thinks counts.

    Between two samplings nothing is cut: then the next one is asked for the answer alone.
    """

    def __init__(self, frames: FrameRecorder, *, is_offered: bool) -> None:
        """``is_offered``: False for a turn that continues an answer, which is asked for the answer alone in any case."""
        self._frames = frames
        self._can_press = is_offered
        self._is_pressed = False
        self._is_heeded = False
        self._is_cutting = False
        self._open: Header | None = None
        self._seen: list[Frame] = []
        self._cut: list[Frame] = []
        self._sampling: asyncio.Task[None] | None = None

    def press(self) -> bool:
        """The person wants the answer now. Returns whether that changes anything: the model has thought, and has not begun to answer."""
        has_thought = bool(self._frames.written) or self._open is not None
        if not (self._can_press and has_thought):
            return False
        self._can_press, self._is_pressed = False, True
        if self._sampling is not None and not self._sampling.done():
            self._is_cutting = True
            self._sampling.cancel()
        return True

    def heeded(self, request: SampleRequest) -> SampleRequest:
        """The next request of the turn: as it is, or for the answer alone, without tools.

        Of a cut sampling the model gets only what people saw.
        """
        if not self._is_pressed:
            return request
        self._is_heeded = True
        frames = (frame for frame in request.frames if frame not in self._cut)
        return replace(request, frames=(*frames, *self._seen), effort="low", cut_answer=Frame(ANSWER, ""), tools=(), hosted=None)

    def feed(self, event: RawEvent) -> None:
        """What a sampling writes, for the turn's frames. What it still writes once it is cut is hidden, and says why it ended."""
        match event:
            case FrameOpened(header=header):
                if self._is_cutting and may_see(header, Audience.END_USER):
                    # An answer that was held back until now, of a model that is about to be asked for another one.
                    event = replace(event, header=BROKEN)
                self._open = event.header
                self._can_press = self._can_press and not is_answer(self._open)
            case FrameWithdrawn():
                self._open = BROKEN
            case FrameClosed(error=Code.STREAM_TRUNCATED) if self._is_cutting:
                event = replace(event, error=ProductCode.ANSWER_NOW)
        if isinstance(event, FrameClosed):
            self._open = None
        self._frames.feed(event)

    async def cuts(self, sampling: Coroutine[Any, Any, None]) -> bool:
        """Run a sampling. True where it was cut, so that another one has to follow.

        Raises:
            CancelledError: the turn itself is to end.
            BackendError: see ``Sampling.run``; not where the sampling was being cut.
        """
        before, had_answer = len(self._frames.written), self._frames.has_answer
        self._seen, self._is_cutting = [], False
        self._sampling = asyncio.ensure_future(sampling)
        try:
            await self._sampling
        except (asyncio.CancelledError, BackendError):
            task = asyncio.current_task()
            if not self._is_cutting or (task is not None and task.cancelling()):
                raise
            if self._open is not None:
                self.feed(FrameClosed(None, Code.STREAM_TRUNCATED))
            # At once, so that a process that dies from here on leaves the thought marked as cut.
            self._frames.keep_now()
            written = self._frames.written[before:]
            self._seen = list(visible(written, Audience.END_USER))
            self._cut = [frame for frame in written if frame.header.channel == Channel.ANALYSIS]
            return True
        # Pressed in the moment in which the model ended by itself, and wrote no answer: it is asked for one all the same.
        return self._is_pressed and not self._is_heeded and self._frames.has_answer is had_answer
