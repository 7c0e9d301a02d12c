"""Converts raw events into the numbered events of the debug view, which shows every frame."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from chatui import wire
from renderer.events import RawEvent
from renderer.gate import Audience, Gate, VisibleClosed, VisibleDelta, VisibleOpened, VisibleText, VisibleWithdrawn, why_hidden

MOST_UNSENT = 200
"""How many pieces of text wait to be joined while nobody watches."""


class DebugStream:
    """Every frame of a running turn as text, with its header. Always collected, but published only while someone watches."""

    def __init__(self, turn_id: UUID) -> None:
        self._turn = str(turn_id)
        self._gate = Gate(Audience.DEBUG)
        self._number = 0
        self._frames: list[_DebugFrame] = []
        self._pending: list[wire.Event] = []
        self._unsent: list[VisibleText] = []

    def take(self, event: RawEvent, key: UUID) -> None:
        """Collect a raw event of the frame ``key``."""
        match self._gate.admit(event):
            case VisibleOpened(header=header):
                frame = _DebugFrame(str(key), header.as_written(), why_hidden(header), [])
                self._frames.append(frame)
                self._pending.append(wire.FrameBegan(frame.key, frame.header, frame.why_hidden))
            case VisibleDelta(text=text):
                self._unsent.append(text)
            case VisibleWithdrawn(header=header):
                self._push_text()
                frame = self._frames[-1]
                frame.header, frame.why_hidden = header.as_written(), why_hidden(header)
                self._pending.append(wire.FrameHidden(frame.key, frame.header, frame.why_hidden))
            case VisibleClosed(event=closed):
                self._push_text()
                frame = self._frames[-1]
                frame.is_open = False
                terminator = closed.terminator.value if closed.terminator else None
                if closed.header is not None:
                    frame.header = closed.header.as_written()
                self._pending.append(wire.FrameEnded(frame.key, terminator, closed.error.value if closed.error else None))

    def flush(self, *, is_watched: bool = True) -> list[wire.Numbered]:
        """All new events since the last flush, numbered. Also call this while nobody watches, so that little accumulates: without
        ``is_watched``, they are only counted, and the newest text waits."""
        if is_watched or len(self._unsent) > MOST_UNSENT:
            self._push_text()
        pending, self._pending = self._pending, []
        if not is_watched:
            self._number += len(pending)
            return []
        numbered = [wire.Numbered(self._turn, self._number + offset, event) for offset, event in enumerate(pending, start=1)]
        self._number += len(numbered)
        return numbered

    def snapshot(self) -> wire.DebugSnapshot:
        """Every frame so far. Call ``flush`` just before, so that the sequence numbers match."""
        frames = tuple(
            wire.FrameSoFar(frame.key, frame.header, frame.why_hidden, VisibleText.joined(frame.parts), frame.is_open)
            for frame in self._frames
        )
        return wire.DebugSnapshot(self._turn, self._number, frames)

    def _push_text(self) -> None:
        if self._unsent:
            # One string per flush: a string per token of long reasoning would take several times the memory.
            text, self._unsent = VisibleText.joined(self._unsent), []
            self._frames[-1].parts.append(text)
            self._pending.append(wire.FrameGrew(self._frames[-1].key, text))


@dataclass(slots=True)
class _DebugFrame:
    key: str
    header: dict[str, str]
    why_hidden: str | None
    parts: list[VisibleText]
    is_open: bool = True
