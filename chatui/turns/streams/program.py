"""What a program sees of a running turn, until it has taken it: text that waits is joined, so that a slow reader costs no more than the
answer."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from renderer.errors import ErrorCode
from renderer.events import RawEvent
from renderer.frame_kinds import is_answer, is_preamble
from renderer.gate import Audience, Gate, VisibleClosed, VisibleDelta, VisibleOpened, VisibleText, VisibleWithdrawn, Working

MOST_STEPS = 100
"""Lines of a summary that wait, at most."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model writes something hidden."""


@dataclass(frozen=True, slots=True)
class Step:
    """A checked line of the summary of what is hidden."""

    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class Opened:
    """A message begins: the answer, or a preamble."""

    is_preamble: bool


@dataclass(frozen=True, slots=True)
class MoreText:
    """More text of the open message."""

    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The open message is hidden from now on, with all that was told of it."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The open message ended. ``is_preamble``: what it turned out to be. ``is_whole``: it was not cut."""

    is_preamble: bool
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn ended: its state (a value of ``TurnState``), and what a server counted."""

    state: str
    code: ErrorCode | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    retry_after: int | None = None


ProgramEvent = Thinking | Step | Opened | MoreText | Withdrawn | Closed | Ended


class ProgramStream:
    """One for each turn of a program's. ``take``, ``step`` and ``end`` fill it; ``next`` empties it."""

    def __init__(self) -> None:
        self._gate = Gate(Audience.PROGRAM)
        self._waiting: deque[ProgramEvent] = deque()
        self._texts: list[VisibleText] = []
        self._filled = asyncio.Event()
        self._is_open = self._is_preamble = self._has_answer = self._has_ended = self._is_told = False

    def take(self, event: RawEvent) -> None:
        """A raw event of the turn, through the gate."""
        match self._gate.admit(event):
            case Working():
                self._add(Thinking())
            case VisibleOpened(header=header):
                self._is_open, self._is_preamble = is_answer(header) or is_preamble(header), is_preamble(header)
                self._has_answer = self._has_answer or is_answer(header)
                if self._is_open:
                    self._add(Opened(self._is_preamble))
            case VisibleDelta(text=text) if self._is_open:
                self._texts.append(text)
                self._filled.set()
            case VisibleWithdrawn() if self._is_open:
                self._withdraw()
            case VisibleClosed(event=closed) if self._is_open:
                self._is_open = False
                self._add(Closed(self._is_preamble or closed.is_preamble_after_all, closed.terminator is not None))

    def step(self, text: VisibleText) -> None:
        """A line of the summary. Dropped once the answer has begun."""
        if not self._has_answer and sum(isinstance(event, Step) for event in self._waiting) < MOST_STEPS:
            self._add(Step(text))

    def end(self, ended: Ended) -> None:
        """Nothing follows. Only the first end counts."""
        if not self._has_ended:
            self._has_ended = True
            self._add(ended)

    async def next(self) -> ProgramEvent | None:
        """What comes next; waits until something does. None where it was withdrawn meanwhile. One at a time: the rest can still be
        withdrawn while a slow reader takes this one."""
        await self._filled.wait()
        self._join()
        event = self._waiting.popleft() if self._waiting else None
        if not self._waiting:
            self._filled.clear()
        self._is_told = isinstance(event, MoreText) or (self._is_told and not isinstance(event, Opened))
        return event

    def _add(self, event: ProgramEvent) -> None:
        self._join()
        self._waiting.append(event)
        self._filled.set()

    def _join(self) -> None:
        if self._texts:
            self._waiting.append(MoreText(VisibleText.joined(self._texts)))
            self._texts.clear()

    def _withdraw(self) -> None:
        """What was not told yet is never told, also where lines of the summary wait behind it; a message of which something was told is
        withdrawn there."""
        self._is_open = False
        self._texts.clear()
        opened = max((place for place, event in enumerate(self._waiting) if isinstance(event, Opened)), default=-1)
        kept = [event for place, event in enumerate(self._waiting) if place < opened or not isinstance(event, Opened | MoreText)]
        self._waiting = deque(kept)
        if opened < 0:
            self._add(Withdrawn() if self._is_told else Closed(self._is_preamble, is_whole=False))
