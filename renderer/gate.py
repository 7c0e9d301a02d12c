"""The gate: the one place that decides what an audience may see of a transcript, for whole frames and for streams alike.

The table is section 4 and 5 of the OpenChatML specification as the project reads it (docs: ``SECURITY.md``). What is not listed is
hidden. It is decided from the header alone, so that a stream and a reload of the page always agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from renderer.blocks import BlockClosed, BlockOpen, BlockPatched, Blocks, BlockText
from renderer.errors import VisibilityError
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.html import SafeHtml


class Audience(StrEnum):
    """Who is looking. DEBUG needs the permission, an opt-in and an audit row, all of which ``chatui.access`` asks for."""

    END_USER = "user"
    DEBUG = "debug"


class VisibleText(str):
    """Text that passed the gate. Only this module makes it; copies, downloads, titles and pages take nothing else."""

    __slots__ = ()

    @classmethod
    def joined(cls, parts: Iterable[VisibleText]) -> VisibleText:
        """Visible texts, put together."""
        return cls("".join(parts))


def may_see(header: Header, audience: Audience) -> bool:
    """The table. Fail closed: an unknown role, channel, intent or recipient is hidden from an END_USER."""
    if audience is Audience.DEBUG:
        return True
    if header.recipient not in _PEOPLE:
        return False
    if header.role == Role.USER:
        return header.channel in (None, Channel.FINAL) and header.intent is None
    if header.role != Role.ASSISTANT:
        return False
    if header.channel in (None, Channel.FINAL):
        return header.intent in (None, Intent.PREAMBLE)
    return header.channel == Channel.COMMENTARY and header.intent == Intent.PREAMBLE


_PEOPLE = (None, "user", "all")


def show(frame: Frame, audience: Audience) -> VisibleText:
    """The text of a frame that this audience may see.

    Raises:
        VisibilityError: the frame is hidden from this audience. The caller asked for what it should not have.
    """
    if not may_see(frame.header, audience):
        raise VisibilityError("a hidden frame was asked for")
    return VisibleText(frame.body)


def as_debug_text(text: str) -> VisibleText:
    """What belongs to a frame but is no body (the header of a broken one), for the DEBUG audience, which sees everything."""
    return VisibleText(text)


def visible(frames: Iterable[Frame], audience: Audience) -> Iterator[Frame]:
    """Those frames that this audience may see, in order. Leaving the others out is no attempt to see them."""
    return (frame for frame in frames if may_see(frame.header, audience))


@dataclass(frozen=True, slots=True)
class VisibleOpened:
    """A visible frame began. ``header`` is complete for DEBUG; for an END_USER it tells a preamble from the answer, no more."""

    header: Header


@dataclass(frozen=True, slots=True)
class VisibleDelta:
    """More text of the open visible frame."""

    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class VisibleClosed:
    """The open visible frame ended. ``event`` is the raw event; only its error code and terminator are in it."""

    event: FrameClosed


@dataclass(frozen=True, slots=True)
class Working:
    """Something hidden is going on. Sent once when it begins: neither its length nor its pace is told."""


VisibleEvent = VisibleOpened | VisibleDelta | VisibleClosed | Working


class Gate:
    """Raw events in, visible events out, for one audience. Holds no text; knows only whether the open frame is visible."""

    def __init__(self, audience: Audience) -> None:
        self.audience = audience
        self._open_is_visible = False
        self._said_working = False

    def admit(self, event: RawEvent) -> VisibleEvent | None:
        """What this audience sees of ``event``; None for nothing. Text outside an open visible frame is dropped."""
        match event:
            case FrameOpened(header=header):
                self._open_is_visible = may_see(header, self.audience)
                if self._open_is_visible:
                    self._said_working = False
                    return VisibleOpened(header if self.audience is Audience.DEBUG else _outline(header))
                if self._said_working:
                    return None
                self._said_working = True
                return Working()
            case FrameText(text=text):
                return VisibleDelta(VisibleText(text)) if self._open_is_visible and text else None
            case FrameClosed():
                closed_visible, self._open_is_visible = self._open_is_visible, False
                return VisibleClosed(event) if closed_visible else None


@dataclass(frozen=True, slots=True)
class MoreText:
    """More text of the open code block ``index``, to be appended as text."""

    index: int
    text: VisibleText = field(repr=False)


class GrowingMarkdown:
    """A visible message on its way to safe HTML: takes VisibleText only, so that nothing else can be rendered into a stream."""

    def __init__(self) -> None:
        self._blocks = Blocks()

    def feed(self, text: VisibleText) -> list[BlockClosed | BlockPatched]:
        """More of the message; the blocks that this closed, or changed late."""
        return self._blocks.feed(text)

    def tail(self) -> BlockOpen | MoreText | None:
        """The open block, where there is something new to show. Called at frame rate."""
        tail = self._blocks.tail()
        if isinstance(tail, BlockText):
            return MoreText(tail.index, VisibleText(tail.text))
        return tail

    def finish(self) -> list[BlockClosed | BlockPatched]:
        """The message is complete; its last blocks."""
        return self._blocks.finish()

    def html(self) -> tuple[SafeHtml, ...]:
        """The message so far, block by block."""
        return self._blocks.html()


def is_preamble(header: Header) -> bool:
    """Whether a visible frame is a preamble (a plan, a line about what comes) rather than the answer."""
    return header.intent == Intent.PREAMBLE


def _outline(header: Header) -> Header:
    return Header(role=header.role, channel=header.channel, intent=header.intent)
