"""Prepends the text of a truncated answer to its continuation, so that readers of the events see one frame."""

from __future__ import annotations

from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import is_answer
from renderer.frames import Frame


class TextBeforeCut:
    """The text before the cut. Pass each event of the sample to ``feed``: the first answer that opens is given this text as its start."""

    def __init__(self, cut_answer: Frame | None = None) -> None:
        """``cut_answer``: the answer to continue; None, or a frame without text, if the sample starts a new one."""
        self._text = cut_answer.body if cut_answer else ""
        self._is_waiting = bool(self._text)
        self.is_open = False
        """Whether the open frame begins with this text."""

    def __bool__(self) -> bool:
        """Whether the sample continues any text."""
        return bool(self._text)

    def feed(self, event: RawEvent) -> list[RawEvent]:
        """The event, with the old text added after the event that opens the answer."""
        if self._is_waiting and isinstance(event, FrameOpened) and is_answer(event.header):
            self._is_waiting, self.is_open = False, True
            return [event, FrameText(self._text)]
        if isinstance(event, FrameClosed):
            self.is_open = False
        return [event]

    def is_exceeded_by(self, frame: Frame) -> bool:
        """Whether a frame that is about to be stored contains more than white space, and more than the cut answer did."""
        return bool(frame.body.strip()) and (not self._text or frame.body.rstrip() != self._text.rstrip())
