""" "Answer now": stops a turn's reasoning early, and samples the model again for the answer alone.

The next request is the same as for "Finish the answer" (``backends.continuation``): it asks in words, at low effort, and leaves out the cut
reasoning. Never put the start of an answer after cut reasoning in a prompt: models went on reasoning there, for everybody to read.
It is a stage of the turn's events, so that everything after the cut is hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatui.backends.base import SampleRequest
from chatui.codes import ProductCode
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.stages import Stage
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANSWER, BROKEN
from renderer.frames import Channel, Frame, Header
from renderer.gate import Audience, may_see, visible


class AnswerNowStage(Stage):
    """Changes nothing until the person presses the button.

    Between two samplings there is nothing to cut: the next one is then asked for the answer alone.
    """

    def __init__(self) -> None:
        self.is_pressed = False
        self.is_cutting = False
        """Whether the sampling that ran when the button was pressed is being cut."""
        self.is_applied = False
        """Whether a request was made for the answer alone."""
        self._frames: Sequence[Frame] = ()
        """The frames of the turn, which grow; from ``_written_before`` on, they are of the last sampling."""
        self._written_before = 0
        self._open: Header | None = None
        """The header of the open frame, while the sampling is cut."""
        self._cut: list[Frame] = []
        """The reasoning that was cut: no later prompt contains it."""

    def press(self, frames: FrameRecorder, written_before: int, *, is_cutting: bool) -> None:
        """``written_before``: how many frames there were when the last sampling began. ``is_cutting``: it still runs, and is cut."""
        self.is_pressed, self.is_cutting = True, is_cutting
        self._frames, self._written_before, self._open = frames.written, written_before, frames.open_header

    def applied_to(self, request: SampleRequest) -> SampleRequest:
        """The next request: once the button was pressed, for the answer alone, without tools. It contains only the visible part of a cut
        sampling."""
        if not self.is_pressed:
            return request
        self.is_applied = True
        written = self._frames[self._written_before :] if self.is_cutting else []
        self.is_cutting = False
        self._cut += [frame for frame in written if frame.header.channel == Channel.ANALYSIS]
        frames = (*(frame for frame in request.frames if frame not in self._cut), *visible(written, Audience.END_USER))
        thoughts = (*request.thoughts, *(frame.body for frame in self._cut))
        return replace(request, frames=frames, effort="low", cut_answer=Frame(ANSWER, ""), tools=(), hosted=None, thoughts=thoughts)

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        """After the cut, new frames are hidden; a cut frame's error is ANSWER_NOW."""
        if not self.is_pressed:
            return [event]
        match event:
            case FrameOpened(header=header):
                if self.is_cutting and may_see(header, Audience.END_USER):
                    # An answer that was buffered until now, although the model is about to be asked for another one.
                    event = replace(event, header=BROKEN)
                self._open = event.header
            case FrameWithdrawn():
                self._open = BROKEN
            case FrameClosed(error=error):
                self._open = None
                if self.is_cutting and error is Code.STREAM_TRUNCATED:
                    event = replace(event, error=ProductCode.ANSWER_NOW)
        return [event]

    def finish(self) -> Sequence[RawEvent]:
        """The frame that was cut is closed."""
        return self.feed(FrameClosed(None, Code.STREAM_TRUNCATED)) if self.is_cutting and self._open is not None else ()
