"""Puts the text of a cut answer in front of what a sample adds to it, so that both are one frame to everybody who reads the events."""

from __future__ import annotations

from renderer.events import FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import is_answer
from renderer.frames import Frame


class Rest:
    """The rest of an answer. ``feed`` takes each event of the sample; the first answer that it opens begins with the old text."""

    def __init__(self, cut: Frame | None = None) -> None:
        """``cut``: the open answer. None, or a frame without text, where the answer begins with the sample."""
        self._before = cut.body if cut else ""
        self._is_waiting = bool(self._before)

    @property
    def is_of_text(self) -> bool:
        """Whether there is text that the sample goes on with."""
        return bool(self._before)

    def feed(self, event: RawEvent) -> list[RawEvent]:
        """The event, and the old text behind the opening of the answer."""
        if self._is_waiting and isinstance(event, FrameOpened) and is_answer(event.header):
            self._is_waiting = False
            return [event, FrameText(self._before)]
        return [event]

    def adds_to(self, frame: Frame) -> bool:
        """Whether a frame that is about to be kept says more than white space, and more than the cut answer did."""
        return bool(frame.body.strip()) and (not self._before or frame.body.rstrip() != self._before.rstrip())
