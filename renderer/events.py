"""A frame while it is being written: FrameOpened, then FrameText any number of times, then FrameClosed; and their Assembler.

In between a frame can be taken back from people, once: FrameWithdrawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from renderer import strict_json
from renderer.errors import Code, ErrorCode, Place
from renderer.frame_kinds import BROKEN, PREAMBLE, is_answer
from renderer.frames import Frame, Header, Terminator


@dataclass(frozen=True, slots=True)
class FrameOpened:
    """A header is complete; from now on text belongs to this frame. Visibility is decided from this alone.

    ``place`` is where the frame begins in a transcript; None where the events come from elsewhere.
    """

    header: Header
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FrameText:
    """More of the open frame's body, escapes already resolved."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FrameClosed:
    """The open frame ended. ``terminator`` is None where the stream broke off; ``error`` where the frame broke a rule.

    ``header``: what the frame turned out to be, where a server says so only at its end: a preamble that began as the answer. Only that:
    both are for people, so that who sees the frame was and is decided when it is opened.
    """

    terminator: Terminator | None
    error: ErrorCode | None = None
    header: Header | None = None

    @property
    def is_preamble_after_all(self) -> bool:
        """Whether the answer that ends here was a preamble."""
        return self.header is not None


@dataclass(frozen=True, slots=True)
class FrameWithdrawn:
    """The open frame turned out to be no text for people: from now on, and for all of its text so far, its header is ``BROKEN``.

    The one exception to the rule that who sees a frame is decided when it is opened; it only ever hides.
    """


RawEvent = FrameOpened | FrameText | FrameWithdrawn | FrameClosed


@dataclass(frozen=True, slots=True)
class Finished:
    """A frame that an Assembler folded, with what only the events knew: was it whole, did it break a rule, where did it begin."""

    frame: Frame
    complete: bool = True
    error: ErrorCode | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


class Assembler:
    """Folds raw events into frames. Holds one open frame; ``feed`` returns a Finished when that frame closes.

    It is the one place that holds a whole body, so it is here that a body is checked against its ``<|constrain|>``.
    """

    def __init__(self) -> None:
        self._header: Header | None = None
        self._place: Place | None = None
        self._parts: list[str] = []

    def feed(self, event: RawEvent) -> Finished | None:
        """Take the next event in order. Events out of order raise ValueError: that is a bug in their source, not bad input."""
        match event:
            case FrameOpened(header=header, place=place):
                if self._header is not None:
                    raise ValueError("a frame was opened inside another")
                self._header, self._place = header, place
                return None
            case FrameText() | FrameWithdrawn():
                self._change(event)
                return None
            case FrameClosed(terminator=terminator, error=error, header=header):
                if header is not None:
                    self._relabel(header)
                return self._fold(terminator, error)

    def open_frame(self) -> Frame | None:
        """The open frame as it stands, ended by ``<|end|>``: what is kept if nothing more comes. None where none is open."""
        if self._header is None:
            return None
        return Frame(self._header, "".join(self._parts), Terminator.END)

    def finish(self) -> Finished | None:
        """No more events come: an open frame is returned as incomplete (``E-STREAM-TRUNCATED``)."""
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
        return Finished(frame, complete=terminator is not None, error=error, place=self._place)


def violates_constraint(frame: Frame) -> bool:
    """Whether the body is not of the type that ``<|constrain|>`` names. Only JSON can be told: any text is text or Markdown, and what
    other words mean is not known here."""
    constrain = frame.header.constrain
    return constrain is not None and constrain.lower() == "json" and not strict_json.is_json(frame.body)
