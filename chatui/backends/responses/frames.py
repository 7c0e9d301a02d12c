"""Writes raw events for the Responses reducer, one frame at a time: a new writer closes the frame that is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chatui.backends.call_frames import call_frame
from chatui.backends.defang import Restorer
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANSWER, BROKEN, PREAMBLE
from renderer.frames import HEADER_VALUE, Header, Terminator


@dataclass(frozen=True, slots=True)
class Source:
    """Whose text a frame holds: a number for the item, what of it, the header, and the rule that the text broke if it did."""

    item: int
    lane: str
    header: Header
    fault: ErrorCode | None = None


class FrameWriter:
    """Text in, raw events out. ``restore``: markers in the request were defanged, and echoes of them are to be restored."""

    def __init__(self, *, restore: bool) -> None:
        self._restorer = Restorer() if restore else None
        self.open: Source | None = None

    def write(self, source: Source, text: str) -> list[RawEvent]:
        """More text of ``source``; another source's frame is closed first."""
        if not text:
            return []
        events: list[RawEvent] = []
        if self.open != source:
            events = [*self.close(Terminator.END), FrameOpened(source.header)]
            self.open = source
        if self._restorer:
            text = self._restorer.feed(text)
        return [*events, FrameText(text)] if text else events

    def withdraw(self) -> list[RawEvent]:
        """What is open and was for people is not for them any more; it stays open."""
        if self.open is None or self.open.header not in (ANSWER, PREAMBLE):
            return []
        self.open = leak(self.open.item, is_withheld=True)
        return [FrameWithdrawn()]

    def close(self, terminator: Terminator | None, error: ErrorCode | None = None, *, becomes: Header | None = None) -> list[RawEvent]:
        """Close what is open: as incomplete where there is an ``error``, and never with ``<|return|>`` where it is no answer.
        ``becomes``: what it turned out to be."""
        source, self.open = self.open, None
        if source is None:
            return []
        rest = self._restorer.finish() if self._restorer else ""
        events: list[RawEvent] = [FrameText(rest)] if rest else []
        if error:
            return [*events, FrameClosed(None, error, becomes)]
        is_answer = source.header is ANSWER and becomes is None
        return [*events, FrameClosed(terminator if is_answer else Terminator.END, source.fault, becomes)]

    def call(self, call_id: str, name: str, arguments: str, error: ErrorCode | None) -> list[RawEvent]:
        """A whole call. ``call_id`` fits a header already."""
        events = self.close(Terminator.END)
        if self._restorer:
            arguments = self._restorer.feed(arguments) + self._restorer.finish()
        return [*events, *call_frame(call_id, name, arguments, error)]


def leak(item: int, *, is_withheld: bool) -> Source:
    """Text that the leak guard hid. ``is_withheld``: people are told."""
    return Source(item, "leak", BROKEN, ProductCode.WITHHELD if is_withheld else Code.PARSE_HEADER)


def usable_call_id(call_id: str, used: set[str], new_call_id: Callable[[], str]) -> str:
    """``call_id`` if it fits a header and no other call of this sample has it; else a new one. It is added to ``used``."""
    if not HEADER_VALUE.fullmatch(call_id) or call_id in used:
        call_id = new_call_id()
    used.add(call_id)
    return call_id
