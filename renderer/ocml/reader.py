"""A streaming parser for OpenChatML text: pieces in, events out.

However the text is cut, down to single bytes, the events are the same. The reader stores no body. It buffers only a possible beginning of a
control token, a frame header (at most ``frame_header.HEADER_LIMIT`` characters) and the document header (at most 64 KiB).

*Strict* reading, the default, raises at the first refused problem. *Lenient* reading continues: each problem is an event, and anything it
cannot understand is hidden.
"""

from __future__ import annotations

import codecs
import re

from renderer.errors import Code, Location, OpenChatMLError
from renderer.ocml import document_header
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT, DocumentHeader, FutureVersionError
from renderer.ocml.frame_states import FrameStates
from renderer.ocml.plain_values import SURROGATE
from renderer.ocml.scanning import Cursor, DocumentOpened, Output, ReaderEvent, beginnings, location_after
from renderer.tokens import Token

_START = Token.START.value
_FIRST_FRAME = f"\n{_START}"
_FIRST_FRAME_BEGINNINGS = beginnings(_FIRST_FRAME)
_LEADING_SPACE = re.compile(r"[ \t\r\n]*")
_WHITE_SPACE = " \t\r\n"
_BEGINNING = Location(0, 1, 1)


class DocumentBeginning:
    """Collects text until the first frame begins. Buffers no more than the longest allowed document header."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._kept: list[str] = []
        self._length = 0
        self._is_blank = True
        self._is_too_long = False
        self.held = ""
        """The end of the last buffer, if a frame may begin there."""

    def feed(self, buffer: str, position: int) -> int | None:
        """Read on from ``position``. Returns where the first frame begins, None if not in this buffer.

        It begins at a ``<|start|>`` at the start of a line, or with only white space before it.
        """
        if self._is_blank:
            position, found = self._skip_blank(buffer, position)
            if found or self._is_blank:
                return position if found else None
        begin = buffer.find(_FIRST_FRAME, position)
        if begin >= 0:
            self._keep(buffer[position : begin + 1])
            return begin + 1
        line = buffer.rfind("\n", max(position, len(buffer) - len(_FIRST_FRAME) + 1))
        self.held = buffer[line:] if line >= 0 and buffer[line:] in _FIRST_FRAME_BEGINNINGS else ""
        self._keep(buffer[position : len(buffer) - len(self.held)])
        return None

    def _skip_blank(self, buffer: str, position: int) -> tuple[int, bool]:
        """The position of the first character that is not white space, and whether a frame begins there."""
        space = _LEADING_SPACE.match(buffer, position)
        end = space.end() if space else position
        self._keep(buffer[position:end])
        if buffer.startswith(_START, end):
            return end, True
        rest = buffer[end:]
        self._is_blank = _START.startswith(rest)
        self.held = rest if self._is_blank else ""
        return end, False

    def _keep(self, text: str) -> None:
        self._length += len(text) if text.isascii() else len(text.encode("utf-8"))
        if self._length <= DOCUMENT_HEADER_LIMIT:
            self._kept.append(text)
        elif not self._is_too_long:
            # Reported as soon as it is known, not a megabyte later.
            self._is_too_long = True
            self._output.report(Code.PARSE_HEADER, "the document header is too long", _BEGINNING)

    def finish(self) -> DocumentHeader | None:
        """Signal the end of a text without frames. Returns the header, as ``read`` does."""
        self._keep(self.held)
        if not self._is_too_long and not "".join(self._kept).strip(_WHITE_SPACE):
            self._output.report(Code.PARSE_HEADER, "there is no document", _BEGINNING)
        return self.read()

    def read(self) -> DocumentHeader | None:
        """The document header. An unreadable header is reported. None if reading must stop because of a future major version."""
        text, self._kept, self.held = "".join(self._kept), [], ""
        if self._is_too_long:
            return document_header.UNREADABLE
        if not text.strip(_WHITE_SPACE):
            return document_header.LEGACY
        try:
            document = document_header.read(text)
            for hint in document_header.hints(document.extra):
                self._output.report(Code.PARSE_HEADER, hint, _BEGINNING, is_refused=False)
            return document
        except FutureVersionError as error:
            self._output.failure = error
            return None
        except OpenChatMLError as error:
            self._output.report(error.code, error.hint, error.location or _BEGINNING)
        return document_header.UNREADABLE


_BYTE_ORDER_MARK = "\ufeff"


class Reader:
    """Text or bytes in, events out. ``fragment``: the text is frames without a document header, like the specification's examples."""

    def __init__(self, *, lenient: bool = False, fragment: bool = False) -> None:
        self._output = Output(lenient=lenient)
        self._is_finished = False
        self._is_new = True
        self._decoder = codecs.getincrementaldecoder("utf-8")()
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
            if self._decoder.getstate()[0]:
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
        try:
            text = self._decoder.decode(piece, is_last)
        except UnicodeDecodeError as error:
            self._consume(error.object[: error.start].decode("utf-8"))
            if not self._report_invalid("the bytes are not valid UTF-8"):
                return
            self._decoder.reset()
            text = self._decoder.decode(error.object[error.start :], is_last)
        self._consume(text)

    def _take_text(self, piece: str) -> None:
        if piece.isascii() or (found := SURROGATE.search(piece)) is None:
            self._consume(piece)
            return
        self._consume(piece[: found.start()])
        if self._decoder.errors == "strict":
            self._report_invalid("an unpaired surrogate")
        self._consume(SURROGATE.sub("\ufffd", piece[found.start() :]))

    def _report_invalid(self, hint: str) -> bool:
        """Report what is no character, and replace it from now on. Returns whether reading continues."""
        self._decoder.errors = "replace"
        return self._output.report(Code.PARSE_HEADER, hint, self._here())

    def _consume(self, text: str) -> None:
        output = self._output
        if not text or output.failure is not None:
            return
        if self._is_new:
            self._is_new = False
            if text[0] == _BYTE_ORDER_MARK:
                self._cursor.skip_byte_order_mark()
                text = text[1:]
        buffer = self._held + text
        self._cursor.begin(buffer)
        position = 0 if self._frames else self._first_frame(buffer)
        while self._frames and position is not None:
            position = self._frames.step(buffer, position)
        output.flush()
        self._cursor.move(len(buffer) - len(self._held))

    def _here(self) -> Location:
        """The position after all text so far, including text that is held back."""
        number = None if self._frames is None else self._frames.number
        return location_after(self._cursor.here(number), self._held)

    @property
    def _held(self) -> str:
        """The end of the text so far, which is held back."""
        return self._document.held if self._frames is None else self._frames.held

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

    def _begin_frames(self, document: DocumentHeader) -> None:
        self._output.emit(DocumentOpened(document))
        self._frames = FrameStates(document, self._cursor, self._output)

    def _end(self) -> None:
        if self._frames is not None:
            self._frames.finish()
            return
        document = self._document.finish()
        if document is not None:
            self._output.emit(DocumentOpened(document))
