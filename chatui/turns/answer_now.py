""" "Answer now": stops a turn's reasoning early, and samples the model again for the answer alone.

The next request is the same as for "Finish the answer" (``backends.continuation``): it asks in words, at low effort, and leaves out the cut
reasoning. Never put the start of an answer after cut reasoning in a prompt: models went on reasoning there, for everybody to read.
It is a stage of the turn's events, so that everything after the cut is hidden.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from chatui.backends.base import BackendError, SampleRequest
from chatui.codes import ProductCode
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.sampling import Stage
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANSWER, BROKEN, is_answer
from renderer.frames import Channel, Frame, Header
from renderer.gate import Audience, may_see, visible


class AnswerNowButton(Stage):
    """The button in one turn that begins an answer. ``press`` may be called at any time: only the first call while the model thinks counts.

    Between two samplings there is nothing to cut: the next one is then asked for the answer alone.
    """

    def __init__(self, frames: FrameRecorder) -> None:
        self._frames = frames
        self._is_pressed = False
        self._has_answer = False
        """Whether the answer has begun, as far as anybody can tell now: it may turn out to be a preamble, or be withdrawn."""
        self._is_applied = False
        self._is_cutting = False
        self._open: Header | None = None
        self._cut: list[Frame] = []
        self._written_before = 0
        self._sampling: asyncio.Task[None] | None = None

    def press(self) -> bool:
        """The person wants the answer now. Returns whether this has an effect: the model has thought, and has not begun to answer."""
        has_thought = bool(self._frames.written) or self._open is not None
        if not has_thought or self._is_pressed or self._has_answer:
            return False
        self._is_pressed = True
        if self._sampling is not None and not self._sampling.done():
            self._is_cutting = True
            self._sampling.cancel()
        return True

    def applied_to(self, request: SampleRequest) -> SampleRequest:
        """The next request of the turn: unchanged, or once the button was pressed, for the answer alone, without tools.

        The request contains only the visible part of a cut sampling.
        """
        if not self._is_pressed:
            return request
        self._is_applied = True
        written = self._frames.written[self._written_before :] if self._is_cutting else []
        self._cut += [frame for frame in written if frame.header.channel == Channel.ANALYSIS]
        frames = (*(frame for frame in request.frames if frame not in self._cut), *visible(written, Audience.END_USER))
        return replace(request, frames=frames, effort="low", cut_answer=Frame(ANSWER, ""), tools=(), hosted=None)

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        """See Stage. After the cut, new frames are hidden; a cut frame's error is ANSWER_NOW."""
        match event:
            case FrameOpened(header=header):
                if self._is_cutting and may_see(header, Audience.END_USER):
                    # An answer that was buffered until now, although the model is about to be asked for another one.
                    event = replace(event, header=BROKEN)
                self._open = event.header
                self._has_answer = self._has_answer or is_answer(self._open)
            case FrameWithdrawn():
                self._open, self._has_answer = BROKEN, False
            case FrameClosed(error=Code.STREAM_TRUNCATED) if self._is_cutting:
                event = replace(event, error=ProductCode.ANSWER_NOW)
        if isinstance(event, FrameClosed):
            self._open = None
            self._has_answer = self._has_answer and not event.is_preamble_after_all
        return [event]

    def finish(self) -> Sequence[RawEvent]:
        """See Stage. The frame that was cut is closed."""
        return self.feed(FrameClosed(None, Code.STREAM_TRUNCATED)) if self._is_cutting and self._open is not None else ()

    async def run(self, sampling: Coroutine[Any, Any, None]) -> bool:
        """Run a sampling. Returns True if it was cut, so that another one must follow.

        Raises:
            CancelledError: the turn itself was cancelled.
            BackendError: see ``Sampling.run``; not raised while the sampling is being cut.
        """
        self._written_before, had_answer = len(self._frames.written), self._frames.has_answer
        self._is_cutting = False
        self._sampling = asyncio.ensure_future(sampling)
        try:
            await self._sampling
        except (asyncio.CancelledError, BackendError):
            task = asyncio.current_task()
            if not self._is_cutting or (task is not None and task.cancelling()):
                raise
            return True
        # Pressed at the moment when the sampling ended by itself without an answer: the model is still asked for one.
        return self._is_pressed and not self._is_applied and self._frames.has_answer is had_answer
