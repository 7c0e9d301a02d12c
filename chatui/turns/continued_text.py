"""Prepends the text of a truncated answer to its continuation, so that readers of the events see one frame."""

from __future__ import annotations

from renderer.events import FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import is_answer
from renderer.frames import Frame


class TextBeforeCut:
    """The text before the cut. ``feed`` takes each event of the sample; the first answer that it opens begins with that text."""

    def __init__(self, cut_answer: Frame | None = None) -> None:
        """``cut_answer``: the open answer. None, or a frame without text, where the answer begins with the sample."""
        self._text = cut_answer.body if cut_answer else ""
        self._is_waiting = bool(self._text)

    def __bool__(self) -> bool:
        """Whether there is any text that the sample continues."""
        return bool(self._text)

    def feed(self, event: RawEvent) -> list[RawEvent]:
        """The event, with the old text added after the event that opens the answer."""
        if self._is_waiting and isinstance(event, FrameOpened) and is_answer(event.header):
            self._is_waiting = False
            return [event, FrameText(self._text)]
        return [event]

    def is_exceeded_by(self, frame: Frame) -> bool:
        """Whether a frame that is about to be stored holds more than white space, and more than the cut answer did."""
        return bool(frame.body.strip()) and (not self._text or frame.body.rstrip() != self._text.rstrip())
