"""The events of a turn for the debug view: every frame as text, hidden frames included."""

from __future__ import annotations

from dataclasses import dataclass

from chatui.wire.base import Event, Item
from chatui.wire.turn_events import TurnEvent
from renderer.gate import VisibleText


@dataclass(frozen=True, slots=True)
class FrameBegan(TurnEvent):
    """A frame begins. ``why_hidden`` says why an end user does not see it; absent if they do."""

    types = ("chatui:frame.opened",)
    message_id: str
    header: dict[str, str]
    why_hidden: str | None


@dataclass(frozen=True, slots=True)
class FrameGrew(TurnEvent):
    """More of the open frame's body."""

    types = ("chatui:frame.delta",)
    message_id: str
    text: VisibleText


@dataclass(frozen=True, slots=True)
class FrameHidden(TurnEvent):
    """The open frame is hidden from end users from now on; ``header`` is its new header."""

    types = ("chatui:frame.withdrawn",)
    message_id: str
    header: dict[str, str]
    why_hidden: str | None


@dataclass(frozen=True, slots=True)
class FrameEnded(TurnEvent):
    """The open frame ended."""

    types = ("chatui:frame.closed",)
    message_id: str
    terminator: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class FrameSoFar(Item):
    """One frame inside a DebugSnapshot."""

    message_id: str
    header: dict[str, str]
    why_hidden: str | None
    text: VisibleText
    open: bool


@dataclass(frozen=True, slots=True)
class DebugSnapshot(Event):
    """Every frame of the running turn so far."""

    types = ("chatui:debug.snapshot",)
    turn: str
    sequence_number: int
    frames: tuple[FrameSoFar, ...]
