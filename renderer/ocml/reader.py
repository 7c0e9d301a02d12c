"""A streaming parser for OpenChatML text: pieces in, events out.

However the text is cut, down to single bytes, the events are the same. The reader stores no body. It buffers only a possible beginning of a
control token, a frame header (at most ``frame_header.HEADER_LIMIT`` characters) and the document header (at most 64 KiB).

*Strict* reading, the default, raises at the first refused problem. *Lenient* reading continues: each problem is an event, and anything it
cannot understand is hidden.
"""

from __future__ import annotations

import re

from renderer.errors import Code, Location
from renderer.ocml.document_beginning import DocumentBeginning
from renderer.ocml.document_header import DocumentHeader
from renderer.ocml.frame_states import FrameStates
from renderer.ocml.output import DocumentOpened, Output, ProblemFound, ReaderEvent
from renderer.ocml.scanning.cursor import Cursor, location_after
from renderer.ocml.scanning.utf8 import Utf8Pieces

__all__ = ["DocumentOpened", "ProblemFound", "Reader", "ReaderEvent"]

_BYTE_ORDER_MARK = "\ufeff"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Reader:
    """Text or bytes in, events out. ``fragment``: the text is frames without a document header, like the specification's examples."""

    def __init__(self, *, lenient: bool = False, fragment: bool = False) -> None:
        self._output = Output(lenient=lenient)
        self._is_finished = False
        self._is_new = True
        self._bytes = Utf8Pieces()
        self._cursor = Cursor()
        self._document = DocumentBeginning(self._output)
        self._frames: FrameStates | None = None
        self.events_before_error: list[ReaderEvent] = []
        """The events before the problem, from the call that raised. Empty until then."""
        if fragment:
            self._begin_frames(DocumentHeader())

    def feed(self, piece: str | bytes) -> list[ReaderEvent]:
        """Take the next piece. A piece of text may not follow bytes that end inside a character.

        Raises:
            OpenChatMLError: strict reading refuses something in this piece, or lenient reading meets a future major version.
                ``events_before_error`` has the events before it. Every later call raises the same error.
        """
        self._check_open()
        if isinstance(piece, str):
            if self._bytes.is_waiting:
                raise ValueError("text after an incomplete character")
            self._take_text(piece)
        else:
            self._take_bytes(piece, is_last=False)
        return self._take_events()

    def finish(self) -> list[ReaderEvent]:
        """Signal the end of the text. Raises as ``feed`` does, with E-STREAM-TRUNCATED if the text ends inside a frame."""
        self._check_open()
        self._take_bytes(b"", is_last=True)
        if self._output.failure is None:
            self._end()
        self._is_finished = True
        return self._take_events()

    def _check_open(self) -> None:
        if self._output.failure is not None:
            raise self._output.failure
        if self._is_finished:
            raise ValueError("this reader is finished")

    def _take_events(self) -> list[ReaderEvent]:
        output = self._output
        events = output.take_events()
        if output.failure is not None:
            self.events_before_error = events
            raise output.failure
        return events

    # --- pieces -------------------------------------------------------------------------------------------------------------------

    def _take_bytes(self, piece: bytes, *, is_last: bool) -> None:
        text, is_broken = self._bytes.decode(piece, is_last=is_last)
        self._consume(text)
        if is_broken and self._output.report(Code.PARSE_HEADER, "the bytes are not valid UTF-8", self._here()):
            self._consume(self._bytes.decode_the_rest(is_last=is_last))

    def _take_text(self, piece: str) -> None:
        if piece.isascii() or (found := _SURROGATE.search(piece)) is None:
            self._consume(piece)
            return
        self._consume(piece[: found.start()])
        if not self._bytes.replaces_invalid:
            self._bytes.replaces_invalid = True
            self._output.report(Code.PARSE_HEADER, "an unpaired surrogate", self._here())
        self._consume(_SURROGATE.sub("\ufffd", piece[found.start() :]))

    def _consume(self, text: str) -> None:
        output = self._output
        if not text or output.failure is not None:
            return
        if self._is_new:
            self._is_new = False
            if text[0] == _BYTE_ORDER_MARK:
                self._cursor.skip_byte_order_mark()
                text = text[1:]
        position: int | None = 0
        frames = self._frames
        if frames is None:
            text, position = self._begin(text)
            if (frames := self._frames) is None:
                return
        else:
            text = frames.held + text
            self._cursor.begin(text)
        while position is not None:
            position = frames.step(text, position)
        if output.text:
            output.flush()
        self._cursor.move(len(text) - len(frames.held))

    def _begin(self, text: str) -> tuple[str, int]:
        """Continue before the first frame. Returns the buffer, and the position of the first frame in it, or 0."""
        buffer = self._document.held + text
        self._cursor.begin(buffer)
        position = self._first_frame(buffer)
        if self._frames is None:
            self._cursor.move(len(buffer) - len(self._document.held))
        return buffer, position or 0

    def _here(self) -> Location:
        """The position after all text so far, including text that is held back."""
        if self._frames is None:
            return location_after(self._cursor.here(0), self._document.held)
        return location_after(self._cursor.here(self._frames.number), self._frames.held)

    # --- the two parts of a document ----------------------------------------------------------------------------------------------

    def _first_frame(self, buffer: str) -> int | None:
        position = self._document.feed(buffer, 0)
        if position is None or self._output.failure is not None:
            return None
        document = self._document.read()
        if document is None or self._output.failure is not None:
            return None
        self._begin_frames(document)
        return position

    def _begin_frames(self, document: DocumentHeader) -> FrameStates:
        self._output.emit(DocumentOpened(document))
        self._frames = FrameStates(document, self._cursor, self._output)
        return self._frames

    def _end(self) -> None:
        if self._frames is not None:
            self._frames.finish()
            return
        document = self._document.finish()
        if document is not None:
            self._output.emit(DocumentOpened(document))
