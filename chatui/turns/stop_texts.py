"""Ends an answer at the first of a program's stop texts, and with it the sampling.

The texts are looked for in what a program is shown, preambles and answer, after all checks, and never sent to a model server: it would
look for them in hidden text, too, and cut there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chatui.turns.stages import Stage
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import is_answer, is_preamble
from renderer.frames import Terminator


class StopTexts(Stage):
    """The last stage of a turn's events. ``has_stopped``: one of the texts was found, ``found``; nothing is passed on any
    more."""

    def __init__(self, texts: Sequence[str], on_stop: Callable[[], None], *, is_checked: bool = False) -> None:
        """``texts``: none is empty. ``on_stop`` is called once, to end the sampling. ``is_checked``: answers come here whole, and those
        that do not have the required format are withdrawn at their end; so no answer is cut before its end. What programs read is the
        answer alone then, so nothing ends in a preamble."""
        self._is_checked = is_checked
        self._texts = texts
        self._on_stop = on_stop
        self._is_shown = self._is_answer = False
        self._held = ""
        """The end of the text so far, as far as one of the texts may begin with it."""
        self.has_stopped = False
        self.found = ""

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        if self.has_stopped:
            return ()
        match event:
            case FrameOpened(header=header):
                self._is_answer, self._held = is_answer(header), ""
                self._is_shown = self._is_answer or (is_preamble(header) and not self._is_checked)
            case FrameText(text=text) if self._is_shown:
                self._held += text
                return () if self._is_checked else self._read()
            case FrameWithdrawn():
                self._is_shown = False
                return [*self._released(), event]
            case FrameClosed():
                texts = [*(self._read() if self._is_shown else ()), *self._released()]
                self._is_shown = False
                return texts if self.has_stopped else [*texts, event]
        return [event]

    def finish(self) -> Sequence[RawEvent]:
        return () if self.has_stopped else self._released()

    def _read(self) -> Sequence[RawEvent]:
        text = self._held
        found, self.found = min(((place, each) for each in self._texts if (place := text.find(each)) >= 0), default=(-1, ""))
        if found < 0:
            self._held = text[len(text) - self._possible(text) :]
            shown = text[: len(text) - len(self._held)]
            return [FrameText(shown)] if shown else []
        self.has_stopped, self._held = True, ""
        self._on_stop()
        return [*([FrameText(text[:found])] if found else []), FrameClosed(Terminator.RETURN if self._is_answer else Terminator.END)]

    def _possible(self, text: str) -> int:
        """How many characters at the end of the text one of the texts may begin with."""
        longest = min(len(text), max(map(len, self._texts)) - 1)
        return next((size for size in range(longest, 0, -1) if any(each.startswith(text[-size:]) for each in self._texts)), 0)

    def _released(self) -> Sequence[RawEvent]:
        held, self._held = self._held, ""
        return [FrameText(held)] if held else []
