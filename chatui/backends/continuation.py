"""Continues a truncated answer by asking the model in words, and removes what the model repeats."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from chatui import prompts
from chatui.backends.base import SampleEvent, SampleRequest
from chatui.backends.context_fitting import Sample, without_last_reasoning
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import is_answer
from renderer.frames import Frame, Header, Role, Terminator

_MAX_REPEATED = 2000
"""How many characters at the end of the cut text are searched for a repetition.

An answer that was restarted from its beginning is found at any length.
"""
_FEWEST_REPEATED = 8
"""A shorter match at the seam may be chance."""
_FIRST_WITHOUT_SPACES = "\u2e80"
"""From here on, scripts are written without spaces between words."""


async def continue_in_words(request: SampleRequest, sample: Sample) -> AsyncGenerator[SampleEvent, None]:
    """Sample the missing rest of ``request.cut_answer`` by asking for it in words. Raises as ``sample``."""
    cut = request.cut_answer
    async with aclosing(sample(_in_words(request))) as events:
        seam = Seam(cut.body) if cut and has_text(cut) else None
        is_open = False
        async for event in events:
            if seam and isinstance(event, FrameOpened) and is_answer(event.header):
                is_open = True
            elif seam and is_open and isinstance(event, FrameText):
                event = FrameText(seam.feed(event.text))
            elif seam and is_open and isinstance(event, FrameWithdrawn):
                yield event
                yield FrameText(seam.finish())
                seam, is_open = Seam(cut.body) if cut else None, False
                continue
            elif seam and is_open and isinstance(event, FrameClosed):
                yield FrameText(seam.finish())
                seam, is_open = None, False
            yield event


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
    frames = (*without_last_reasoning(request).frames, Frame(Header(Role.USER), prompts.read("finish")))
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
