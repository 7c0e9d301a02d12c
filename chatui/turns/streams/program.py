"""Buffers a running turn's events for a program, and joins waiting text, so that a slow reader costs no more than the answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from chatui.turns.sealed.reasoning import SealedReasoning
from renderer.errors import ErrorCode
from renderer.events import FrameClosed, RawEvent
from renderer.frame_kinds import is_answer, is_preamble, is_reasoning
from renderer.frames import Frame, Terminator
from renderer.gate import (
    Audience,
    Gate,
    VisibleClosed,
    VisibleDelta,
    VisibleEvent,
    VisibleOpened,
    VisibleText,
    VisibleWithdrawn,
    Working,
    show,
)

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
class Thought:
    """More raw reasoning, for a program that may read it."""

    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class Sealed:
    """What was thought until now, for the program to carry: a token that only this server can open. It replaces the one before."""

    token: str | None = field(repr=False)


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
    """The open message is hidden from now on, with everything that was already sent of it."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The open message ended. ``is_preamble``: what it turned out to be. ``is_whole``: it was not cut."""

    is_preamble: bool
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Called:
    """The model calls a function of the program's, by the program's name for it. Its arguments fit the function."""

    call_id: str
    name: str
    arguments: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn ended: its state (a value of ``TurnState``), and what a server counted."""

    state: str
    code: ErrorCode | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    retry_after: int | None = None


ProgramEvent = Thinking | Step | Thought | Sealed | Opened | MoreText | Withdrawn | Closed | Called | Ended


class ProgramStream:
    """One for each turn of a program's. ``take``, ``step``, ``call`` and ``end`` fill it; ``next`` empties it."""

    def __init__(
        self,
        audience: Audience = Audience.PROGRAM,
        seals_for: UUID | None = None,
        *,
        own: Collection[str] = (),
        must_call: bool = False,
    ) -> None:
        """``audience``: another one than PROGRAM only where the permission was checked and the look is recorded. ``seals_for``: the person
        for whom reasoning is sealed, so that the program can carry it. ``own``: the recipients of calls of the program's functions.
        ``must_call``: no answer is sent before a call, of the program's or the product's tool."""
        self._gate = Gate(audience, own)
        self._own = frozenset(own)
        self._must_call = must_call
        self._sealed = SealedReasoning(seals_for) if seals_for else None
        self._waiting: deque[ProgramEvent] = deque()
        self._texts: list[VisibleText] = []
        self._more: type[MoreText | Thought] = MoreText
        self._filled, self._urgent = asyncio.Event(), asyncio.Event()
        self._is_open = self._is_preamble = self._has_answer = self._has_ended = self._is_told = False

    @property
    def tells_reasoning(self) -> bool:
        """Whether raw reasoning is sent, to a program that may read it."""
        return self._gate.audience is Audience.TRUSTED_PROGRAM

    def take(self, event: RawEvent) -> None:
        """A raw event of the turn, through the gate."""
        visible = self._gate.admit(event)
        if isinstance(event, FrameClosed) and event.terminator is Terminator.CALL:
            self._must_call = False
        if self._more is Thought or (isinstance(visible, VisibleOpened) and is_reasoning(visible.header)):
            self._take_thought(visible)
        else:
            self._take_message(visible)
        if self._sealed is not None and (token := self._sealed.feed(event)):
            self._add(Sealed(token))

    def _take_thought(self, visible: VisibleEvent | None) -> None:
        """An event of raw reasoning. Only a gate that shows it makes one."""
        match visible:
            case VisibleOpened():
                self._add(Thinking())
                self._more = Thought
            case VisibleDelta(text=text):
                self._texts.append(text)
                self._filled.set()
            case VisibleWithdrawn() | VisibleClosed():
                self._join()
                self._more = MoreText

    def _take_message(self, visible: VisibleEvent | None) -> None:
        match visible:
            case Working():
                self._add(Thinking())
            case VisibleOpened(header=header):
                is_told = is_answer(header) and not self._must_call
                self._is_open, self._is_preamble = is_told or is_preamble(header), is_preamble(header)
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

    def call(self, frame: Frame, names: Mapping[str, str]) -> None:
        """A call of one of the program's functions, which was checked. ``names``: what the program calls them, by the names that the model
        reads. VisibilityError where it is no call of theirs."""
        arguments = show(frame, Audience.PROGRAM, self._own)
        function = (frame.header.recipient or "").partition(".")[2]
        self._add(Called(frame.header.call_id or "", names[function], arguments))

    def end(self, ended: Ended) -> None:
        """Nothing follows. Only the first end counts."""
        if not self._has_ended:
            self._has_ended = True
            self._urgent.set()
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

    async def rest(self, seconds: float) -> None:
        """Let more text come together before the next event is taken. Withdrawals and the end are sent at once."""
        try:
            async with asyncio.timeout(seconds):
                await self._urgent.wait()
        except TimeoutError:
            pass
        self._urgent.clear()

    def _add(self, event: ProgramEvent) -> None:
        self._join()
        self._waiting.append(event)
        self._filled.set()

    def _join(self) -> None:
        if self._texts:
            self._waiting.append(self._more(VisibleText.joined(self._texts)))
            self._texts.clear()

    def _withdraw(self) -> None:
        """What was not sent yet is never sent, also if lines of the summary wait behind it; a message that was sent in part is withdrawn
        at the program."""
        self._is_open = False
        self._urgent.set()
        self._texts.clear()
        opened = max((place for place, event in enumerate(self._waiting) if isinstance(event, Opened)), default=-1)
        kept = [event for place, event in enumerate(self._waiting) if place < opened or not isinstance(event, Opened | MoreText)]
        self._waiting = deque(kept)
        if opened < 0:
            self._add(Withdrawn() if self._is_told else Closed(self._is_preamble, is_whole=False))
