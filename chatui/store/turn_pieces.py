"""The unstored text of a running turn: buffered here, appended to the database once a second, and read after a crash."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from uuid import UUID

from chatui.models.turn import Turn, TurnPiece
from renderer.errors import OpenChatMLError
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN
from renderer.frames import Frame, Header
from renderer.ocml import document

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _UnstoredFrame:
    """A frame that is not stored yet. ``header`` is None if the database has it already."""

    header: Header | None
    parts: list[str] = field(default_factory=list, repr=False)
    is_written: bool = False


class Pieces:
    """The unstored text of one turn. ``take`` every event; ``rows`` returns what to write now; ``drop`` a frame once it is stored."""

    def __init__(self, turn_id: UUID) -> None:
        self.are_written = False
        """Whether any row was ever asked for, and may be in the database."""
        self._turn_id = turn_id
        self._number = 0
        self._frames: dict[UUID, _UnstoredFrame] = {}
        self._returned: list[TurnPiece] = []

    def take(self, event: RawEvent, key: UUID) -> None:
        """An event of the frame ``key``."""
        if isinstance(event, FrameOpened):
            self._frames[key] = _UnstoredFrame(event.header)
            return
        frame = self._frames[key]
        match event:
            case FrameText(text=text):
                frame.parts.append(text)
            case FrameWithdrawn():
                frame.header = BROKEN
            case FrameClosed(header=Header() as header):
                frame.header = header

    def rows(self) -> list[TurnPiece]:
        """The rows to write: text since the last call, and rows that were put back."""
        found, self._returned = self._returned, []
        for key, frame in self._frames.items():
            if frame.parts or (frame.header is not None and frame.is_written):
                self._number += 1
                header = "" if frame.header is None else _dumped(frame.header)
                found.append(TurnPiece(turn_id=self._turn_id, number=self._number, frame=key, header=header, text="".join(frame.parts)))
                frame.header, frame.parts, frame.is_written = None, [], True
        self.are_written = self.are_written or bool(found)
        return found

    def put_back(self, rows: list[TurnPiece]) -> None:
        """Return rows that may not have been written: they come again, with the same numbers."""
        self._returned = [row for row in rows if row.frame in self._frames] + self._returned

    def drop(self, key: UUID) -> None:
        """The frame is stored, or never will be."""
        self._frames.pop(key, None)
        self._returned = [row for row in self._returned if row.frame != key]


def frames_of(turn: Turn) -> list[tuple[UUID, Frame]]:
    """The frames in a turn's pieces, in order, each with the key of its message. Text without a header is dropped."""
    headers: dict[UUID, str] = {}
    parts: dict[UUID, list[str]] = {}
    for piece in turn.pieces.order_by("number"):
        headers[piece.frame] = piece.header or headers.get(piece.frame, "")
        parts.setdefault(piece.frame, []).append(piece.text)
    found: list[tuple[UUID, Frame]] = []
    for key, texts in parts.items():
        try:
            found.append((key, Frame(document.parse_frame(headers[key]).header, "".join(texts))))
        except OpenChatMLError:
            # This text is lost, but the conversation must stay usable, and the server, which recovers turns at its start, must start.
            log.warning("turn %s: the pieces of a frame could not be read", turn.pk)
    return found


def _dumped(header: Header) -> str:
    try:
        return document.dump_frame(document.writable(Frame(header, "")))
    except OpenChatMLError:
        return ""
