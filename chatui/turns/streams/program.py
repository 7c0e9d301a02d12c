"""Buffers a turn's events for a program. Waiting text is joined, so that a slow reader costs no more memory than the answer.

The same stream is filled by a running turn and by a stored one that is read again, so that both become the same response. Each event has
the key of its frame, which a stored message keeps.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from chatui.backends.base import ContextUse
from chatui.turns.sealed import SealedReasoning
from renderer.errors import ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameWithdrawn, RawEvent
from renderer.frame_kinds import is_answer, is_preamble, is_reasoning, is_tool_line
from renderer.frames import Frame, Header, Role, Terminator
from renderer.gate import (
    Audience,
    Gate,
    VisibleClosed,
    VisibleDelta,
    VisibleEvent,
    VisibleOpened,
    VisibleText,
    VisibleWithdrawn,
    show,
)


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model is writing something hidden."""

    key: UUID


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the summary of the hidden reasoning. ``key``: the frame that was the last one when the line appeared."""

    key: UUID
    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class Thought:
    """More raw reasoning, for a program that may read it."""

    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class Sealed:
    """The reasoning so far, for the program to send back: a token that only this server can open. It replaces the previous one."""

    token: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Opened:
    """A message begins: the answer, or a preamble."""

    key: UUID
    is_preamble: bool


@dataclass(frozen=True, slots=True)
class MoreProgramText:
    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The open message is withdrawn, including everything that was already sent of it."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The open message ended."""

    is_preamble: bool
    """Whether it turned out to be a preamble."""
    is_whole: bool
    """Whether it was not cut."""


@dataclass(frozen=True, slots=True)
class Called:
    """The model calls one of the program's functions, here by the program's name for it. Its arguments match the function's schema."""

    key: UUID
    call_id: str
    name: str
    arguments: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One of the product's tools has replied to a call."""

    key: UUID
    label: str
    """What it does, without the call's arguments."""
    is_well: bool
    """Whether the reply is no error."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn ended: its state (a value of ``TurnState``), and the token counts that the server reported."""

    state: str
    code: ErrorCode | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    retry_after: int | None = None
    at: datetime | None = None
    context: ContextUse | None = None
    """How large what was too long for the model is, and how large its context."""
    stopped_at: str = field(default="", repr=False)
    """The program's own text at which the answer ended."""


ProgramEvent = Thinking | Step | Thought | Sealed | Opened | MoreProgramText | Withdrawn | Closed | Called | ToolRun | Ended


NO_TOOLS: Mapping[str, str] = {}


class ProgramStream:
    """The stream of one program turn. ``take``, ``step``, ``call`` and ``end`` fill it; ``next`` or ``taken`` empties it."""

    def __init__(
        self,
        audience: Audience = Audience.PROGRAM,
        seals_for: UUID | None = None,
        *,
        own: Collection[str] = (),
        must_call: bool = False,
        hosted: Mapping[str, str] = NO_TOOLS,
    ) -> None:
        """``audience``: other than PROGRAM only if the permission was checked and the access is recorded. ``seals_for``: the person for
        whom reasoning is sealed, so that the program can send it back. ``own``: the recipients in calls to the program's functions.
        ``must_call``: no answer is sent before a call, to a function of the program or a tool of the product. ``hosted``: the labels of the
        product's tools, by the recipient of their calls."""
        self._gate = Gate(audience, own)
        self._own = frozenset(own)
        self._must_call = must_call
        self._hosted = hosted
        self.step_keys: list[UUID] = []
        """The frame of each line of the summary, in order."""
        self._header: Header | None = None
        self._key = UUID(int=0)
        self._calls: dict[str, UUID] = {}
        self._sealed = SealedReasoning(seals_for) if seals_for else None
        self._waiting: deque[ProgramEvent] = deque()
        self._texts: list[VisibleText] = []
        self._text_type: type[MoreProgramText | Thought] = MoreProgramText
        self._filled, self._urgent = asyncio.Event(), asyncio.Event()
        self._is_open = self._is_preamble = self._has_ended = self._is_text_sent = False
        self._is_blank = False
        """Whether the open message has no text but white space so far. Until it has, none is sent: a blank message is not stored."""

    @property
    def sends_reasoning(self) -> bool:
        """Whether raw reasoning is sent, to a program that may read it."""
        return self._gate.audience is Audience.TRUSTED_PROGRAM

    def take(self, event: RawEvent, key: UUID) -> None:
        """Pass a raw event of the frame ``key`` through the gate, and buffer what the program may see."""
        visible = self._gate.admit(event)
        if isinstance(event, FrameOpened):
            self._header, self._key = event.header, key
            self._note_hidden(event.header, is_hidden=not isinstance(visible, VisibleOpened))
        elif isinstance(event, FrameClosed) and self._header is not None:
            self._note_reply(self._header, is_well=event.error is None)
            if event.terminator is Terminator.CALL:
                self._must_call = False
        if self._text_type is Thought or (isinstance(visible, VisibleOpened) and is_reasoning(visible.header)):
            self._take_thought(visible)
        else:
            self._take_message(visible)
        if isinstance(event, FrameWithdrawn):
            self._add(Thinking(key))
        if self._sealed is not None and (token := self._sealed.feed(event)):
            self._add(Sealed(token))

    def _note_hidden(self, header: Header, *, is_hidden: bool) -> None:
        """A model's hidden frame is work. That it works on is no news, but a tool's reply may have come between."""
        if header.role == Role.ASSISTANT and header.call_id:
            self._calls[header.call_id] = self._key
        if is_hidden and header.role != Role.TOOL and not is_tool_line(header):
            self._add(Thinking(self._key))

    def _note_reply(self, header: Header, *, is_well: bool) -> None:
        label = self._hosted.get(header.name or "") if header.role == Role.TOOL and header.call_id in self._calls else None
        if label is not None:
            self._add(ToolRun(self._key, label, is_well))

    def _take_thought(self, visible: VisibleEvent | None) -> None:
        """Buffer an event of raw reasoning. Only the gate of a trusted program lets one through."""
        match visible:
            case VisibleOpened():
                self._add(Thinking(self._key))
                self._text_type, self._is_blank = Thought, False
            case VisibleDelta(text=text):
                self._more(text)
            case VisibleWithdrawn() | VisibleClosed():
                self._join()
                self._text_type = MoreProgramText

    def _take_message(self, visible: VisibleEvent | None) -> None:
        match visible:
            case VisibleOpened(header=header):
                is_shown = is_answer(header) and not self._must_call
                self._is_open, self._is_preamble = is_shown or is_preamble(header), is_preamble(header)
                if self._is_open:
                    self._add(Opened(self._key, self._is_preamble))
                    self._is_blank = True
            case VisibleDelta(text=text) if self._is_open:
                self._more(text)
            case VisibleWithdrawn() if self._is_open:
                self._withdraw()
            case VisibleClosed(event=closed) if self._is_open:
                self._is_open = False
                if self._is_blank:
                    self._texts.clear()
                self._add(Closed(self._is_preamble or closed.is_preamble_after_all, closed.terminator is not None))

    def _more(self, text: VisibleText) -> None:
        self._texts.append(text)
        self._is_blank = self._is_blank and not text.strip()
        if not self._is_blank:
            self._filled.set()

    def step(self, text: VisibleText) -> None:
        self.step_keys.append(self._key)
        self._add(Step(self._key, text))

    def call(self, frame: Frame, names: Mapping[str, str]) -> None:
        """Add a checked call to one of the program's functions. ``names``: the program's names for them, by the names that the model reads.

        Raises:
            OpenChatMLError: it is not a call to one of them.
        """
        arguments = show(frame, Audience.PROGRAM, self._own)
        function = (frame.header.recipient or "").partition(".")[2]
        call_id = frame.header.call_id or ""
        self._add(Called(self._calls[call_id], call_id, names[function], arguments))

    def end(self, ended: Ended) -> None:
        """End the stream. Only the first call counts."""
        if not self._has_ended:
            self._has_ended = True
            self._urgent.set()
            self._add(ended)

    async def next(self) -> ProgramEvent | None:
        """Wait for the next event and return it; None if it was withdrawn meanwhile, or after ``wake``. Events are taken one at a time, so
        that the others can still be withdrawn while a slow reader handles this one."""
        await self._filled.wait()
        self._join()
        event = self._waiting.popleft() if self._waiting else None
        if not self._waiting:
            self._filled.clear()
        self._is_text_sent = isinstance(event, MoreProgramText) or (self._is_text_sent and not isinstance(event, Opened))
        return event

    def wake(self) -> None:
        """Let ``next`` return, even without an event."""
        self._filled.set()

    def taken(self) -> list[ProgramEvent]:
        """All buffered events, of a turn that is read again."""
        self._join()
        events = list(self._waiting)
        self._waiting.clear()
        return events

    async def rest(self, seconds: float) -> None:
        """Wait, so that more text is joined before the next event is taken. A withdrawal or the end stops the wait."""
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
        if self._texts and not self._is_blank:
            self._waiting.append(self._text_type(VisibleText.joined(self._texts)))
            self._texts.clear()

    def _withdraw(self) -> None:
        """Drop what was not sent of the open message, even if summary lines are buffered after it. If part of it was sent, tell the program
        to withdraw it."""
        self._is_open = False
        self._urgent.set()
        self._texts.clear()
        opened = max((place for place, event in enumerate(self._waiting) if isinstance(event, Opened)), default=-1)
        remaining = [
            event for place, event in enumerate(self._waiting) if place < opened or not isinstance(event, Opened | MoreProgramText)
        ]
        self._waiting = deque(remaining)
        if opened < 0:
            self._add(Withdrawn() if self._is_text_sent else Closed(self._is_preamble, is_whole=False))
