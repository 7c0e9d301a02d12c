"""The events of a frame that is being written, and the Assembler that builds whole frames from them.

The order is FrameOpened, any number of FrameText, FrameClosed. In between, a frame can be hidden from people once: FrameWithdrawn.

What a model writes after a tool call that has no reply yet is hidden. A call ends sampling (specification section 12, rule 8). Further
calls of the same completion may follow it; an answer, a preamble or reasoning that follows was written without the tool's reply. Such text
is stored, hidden and flagged ``E-CALL-SCHEMA``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from renderer import strict_json
from renderer.errors import Code, ErrorCode, Location
from renderer.frame_kinds import BROKEN, PREAMBLE, addresses_tool, is_answer, is_json
from renderer.frames import Frame, Header, Intent, Role, Terminator


@dataclass(frozen=True, slots=True)
class FrameOpened:
    """A header is complete; the text that follows belongs to this frame. Visibility is decided from this alone.

    ``location`` is where the frame begins in a transcript; None if the events come from elsewhere.
    """

    header: Header
    location: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FrameText:
    """More of the open frame's body, escapes already resolved."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FrameClosed:
    """The open frame ended."""

    terminator: Terminator | None
    """None if the stream broke off."""
    error: ErrorCode | None = None
    """Set if the frame breaks a rule."""
    header: Header | None = None
    """Set if a server reports only at the end that the answer was a preamble. Nothing else may change there: people may see both, so
    visibility is still decided when the frame opens."""

    @property
    def is_preamble_after_all(self) -> bool:
        """Whether the frame began as the answer and turned out to be a preamble."""
        return self.header is not None


@dataclass(frozen=True, slots=True)
class FrameWithdrawn:
    """The open frame turned out not to be for people: its header becomes ``BROKEN``, also for the text so far.

    This is the only exception to the rule that visibility is decided when a frame opens. It can only hide.
    """


RawEvent = FrameOpened | FrameText | FrameWithdrawn | FrameClosed


@dataclass(frozen=True, slots=True)
class Finished:
    """A frame assembled from events, with what is known of it: whether it is complete, the rule it breaks, where it began, and when it
    ended."""

    frame: Frame
    complete: bool = True
    error: ErrorCode | None = None
    location: Location | None = field(default=None, compare=False, repr=False)
    ended_at: datetime | None = field(default=None, compare=False, repr=False)


class Assembler:
    """Assembles events into frames. Holds one open frame; ``feed`` returns a Finished when it closes.

    Only this class holds a whole body, so a body is checked against its ``<|constrain|>`` here.
    """

    def __init__(self) -> None:
        self._header: Header | None = None
        self._location: Location | None = None
        self._parts: list[str] = []

    def feed(self, event: RawEvent) -> Finished | None:
        """Take the next event. Events out of order raise ValueError: that is a bug in their source, not bad input."""
        match event:
            case FrameOpened(header=header, location=location):
                if self._header is not None:
                    raise ValueError("a frame was opened inside another")
                self._header, self._location = header, location
                return None
            case FrameText() | FrameWithdrawn():
                self._change(event)
                return None
            case FrameClosed(terminator=terminator, error=error, header=header):
                if header is not None:
                    self._relabel(header)
                return self._fold(terminator, error)

    def open_frame(self) -> Frame | None:
        """The open frame so far, ended by ``<|end|>``, as it is kept if the stream stops here. None if no frame is open."""
        if self._header is None:
            return None
        return Frame(self._header, "".join(self._parts), Terminator.END)

    def finish(self) -> Finished | None:
        """Signal the end of the events. An open frame is returned as incomplete (``E-STREAM-TRUNCATED``)."""
        if self._header is None:
            return None
        return self._fold(None, Code.STREAM_TRUNCATED)

    def _change(self, event: FrameText | FrameWithdrawn) -> None:
        if self._header is None:
            raise ValueError("text outside a frame")
        if isinstance(event, FrameText):
            self._parts.append(event.text)
        else:
            self._header = BROKEN

    def _relabel(self, header: Header) -> None:
        if self._header is None or not is_answer(self._header) or header != PREAMBLE:
            raise ValueError("only an answer can turn out to be something else, and only a preamble")
        self._header = header

    def _fold(self, terminator: Terminator | None, error: ErrorCode | None) -> Finished:
        if self._header is None:
            raise ValueError("a frame was closed that was not open")
        frame = Frame(self._header, "".join(self._parts), terminator or Terminator.END)
        self._header = None
        self._parts = []
        if error is None and terminator is not None and violates_constraint(frame):
            error = Code.BODY_CONSTRAINT_VIOLATION
        return Finished(frame, complete=terminator is not None, error=error, location=self._location)


def violates_constraint(frame: Frame) -> bool:
    """Whether the body is not of the type that ``<|constrain|>`` names. Only JSON can be checked: any text is valid text or Markdown,
    and other types are not known here."""
    return is_json(frame.header) and not strict_json.is_json(frame.body)


class UnansweredCalls:
    """The events of one completion, in order, with everything after a call hidden from its beginning."""

    def __init__(self) -> None:
        self._awaits_reply = False
        self._hides = False

    def feed_all(self, events: Iterable[RawEvent]) -> list[RawEvent]:
        """Take the next events and return them, hidden if they follow an unanswered call."""
        return [self.feed(event) for event in events]

    def await_reply(self) -> None:
        """A call ended sampling that is not among the events, because it could not be read."""
        self._awaits_reply = True

    def feed(self, event: RawEvent) -> RawEvent:
        """Take the next event and return it, hidden if it follows an unanswered call."""
        match event:
            case FrameOpened(header=header):
                self._awaits_reply = self._awaits_reply and header.role != Role.TOOL
                self._hides = self._awaits_reply and not addresses_tool(header)
                return replace(event, header=hidden(header)) if self._hides else event
            case FrameClosed(terminator=terminator, error=error):
                self._awaits_reply = self._awaits_reply or terminator is Terminator.CALL
                if self._hides:
                    return FrameClosed(terminator and Terminator.END, error or Code.CALL_SCHEMA)
        return event


def hidden(header: Header) -> Header:
    """The same header for a frame that people may not see, because it follows an unanswered call or has a fault."""
    return replace(header, intent=Intent.DEBUG)
