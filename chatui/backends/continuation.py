"""Continues a truncated answer by asking the model in words, and removes what the model repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatui import prompts
from chatui.backends.base import Sample, SampleEnded, SampleRequest, Taker
from chatui.backends.context_fitting import without_last_reasoning
from chatui.backends.repeats import Repeats
from chatui.codes import ProductCode
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN, is_answer, is_reasoning
from renderer.frames import Frame, Header, Role, Terminator

_MAX_REPEATED = 2000
"""How many characters at the end of the cut text are searched for a repetition.

An answer that was restarted from its beginning is found at any length.
"""
_FEWEST_REPEATED = 8
"""A shorter match at the seam may be chance."""
_FIRST_WITHOUT_SPACES = "\u2e80"
"""From here on, scripts are written without spaces between words."""


async def continue_in_words(request: SampleRequest, take: Taker, sample: Sample) -> SampleEnded:
    """Sample the missing rest of ``request.cut_answer`` by asking for it in words. Raises as ``sample``."""
    cut, asked = request.cut_answer, _in_words(request)
    if cut is None or not has_text(cut):
        return await sample(asked, take)
    thoughts = (*(frame.body for frame in request.frames if is_reasoning(frame.header)), *request.thoughts)
    return await sample(asked, _Joined(take, cut.body, thoughts))


class _Joined(Taker):
    """Passes on events, and joins the first answer that is not withdrawn to the text before the cut. A thought that comes again behind
    what the answer repeats is hidden: it stands where the rest begins, and the leak guard looks only where the answer does.
    """

    def __init__(self, take: Taker, before: str, thoughts: Sequence[str]) -> None:
        super().__init__(take)
        self._before, self._thoughts = before, thoughts
        self._seam: Seam | None = Seam(before)
        self._repeats = Repeats("", thoughts)
        self._hidden = ""
        self._is_open = False

    def __call__(self, event: RawEvent) -> None:
        """Pass on an event; what the answer says again from before the cut is left out."""
        self.has_begun, seam = True, self._seam
        if seam and isinstance(event, FrameOpened) and is_answer(event.header):
            self._is_open = True
        elif seam and self._is_open:
            match event:
                case FrameText(text=text):
                    event = FrameText(self._without_thought(seam.feed(text)))
                case FrameWithdrawn():
                    self.take(event)
                    event, self._seam, self._is_open = FrameText(self._rest(seam, complete=True)), Seam(self._before), False
                    self._repeats = Repeats("", self._thoughts)
                case FrameClosed(error=error):
                    self.take(FrameText(self._rest(seam, complete=error is None)))
                    self._seam, self._is_open = None, False
        self.take(event)
        if self._hidden and isinstance(event, FrameClosed):
            hidden, self._hidden = self._hidden, ""
            for each in (FrameOpened(BROKEN), FrameText(hidden), FrameClosed(Terminator.END, ProductCode.WITHHELD)):
                self.take(each)

    def _rest(self, seam: Seam, *, complete: bool) -> str:
        text = self._without_thought(seam.finish())
        return text if self._repeats.is_past else text + self._shown(self._repeats.finish(complete=complete))

    def _without_thought(self, text: str) -> str:
        return text if self._repeats.is_past or not text else self._shown(self._repeats.feed(text))

    def _shown(self, pieces: Sequence[tuple[str, bool]]) -> str:
        self._hidden += "".join(text for text, is_thought in pieces if is_thought)
        return "".join(text for text, is_thought in pieces if not is_thought)


def has_text(cut_answer: Frame) -> bool:
    """Whether it has text that people have seen. Only then may the prompt open it again."""
    return bool(cut_answer.body)


def _in_words(request: SampleRequest) -> SampleRequest:
    """The history, the cut answer, and our request to continue it: servers refuse a request that ends in an answer."""
    cut = request.cut_answer
    if cut and has_text(cut):
        tail = (replace(cut, terminator=Terminator.END), Frame(Header(Role.USER), prompts.read("continue")))
        return replace(request, frames=(*request.frames, *tail), cut_answer=None)
    # Without the reasoning that was cut, which a model may continue in its answer, and with low effort for new reasoning.
    request = without_last_reasoning(request)
    frames = (*request.frames, Frame(Header(Role.USER), prompts.read("finish")))
    return replace(request, frames=frames, cut_answer=None, effort="low")


class Seam:
    """Joins new text to cut text. Drops what the new text repeats, and buffers text only while it may be a repetition."""

    def __init__(self, before: str) -> None:
        self._before = before
        self._end = before[-_MAX_REPEATED:]
        self._buffer = ""
        self._starts_over = True
        self._is_past = False

    def feed(self, text: str) -> str:
        if self._is_past:
            return text
        self._starts_over = self._starts_over and self._before.startswith(text, len(self._buffer))
        self._buffer += text
        if self._starts_over or (len(self._buffer) <= len(self._end) and self._buffer.lstrip() in self._end):
            return ""
        return self._release()

    def finish(self) -> str:
        return "" if self._is_past else self._release()

    def _release(self) -> str:
        self._is_past = True
        text, self._buffer = self._buffer, ""
        stripped = text.lstrip()
        repeated = len(self._before) if stripped.startswith(self._before) else self._overlap(stripped)
        if repeated:
            return stripped[repeated:]
        last, first = self._before[-1:], text[:1]
        would_run_together = last.isalnum() and first.isalnum() and max(last, first) < _FIRST_WITHOUT_SPACES
        return f" {text}" if would_run_together else text

    def _overlap(self, text: str) -> int:
        """How many characters at the beginning of ``text`` are already at the end of the cut text."""
        longest = min(len(text), len(self._end))
        return next((size for size in range(longest, _FEWEST_REPEATED - 1, -1) if self._end.endswith(text[:size])), 0)
