"""Reads the part of a streamed document before its first frame."""

from __future__ import annotations

import re

from renderer.errors import Code, Location, OpenChatMLError
from renderer.ocml import capabilities, document_header
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT, DocumentHeader, FutureVersionError
from renderer.ocml.output import Output
from renderer.ocml.scanning.token_scan import beginnings
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
        """Where the first frame begins, or None: at a ``<|start|>`` at the start of a line, or with only white space before it."""
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
            return DocumentHeader(profile=document_header.STRICTEST)
        if not text.strip(_WHITE_SPACE):
            return document_header.LEGACY
        try:
            document = document_header.read(text)
            for hint in capabilities.hints(document.extra):
                self._output.report(Code.PARSE_HEADER, hint, _BEGINNING, is_refused=False)
            return document
        except FutureVersionError as error:
            self._output.failure = error
            return None
        except OpenChatMLError as error:
            self._output.report(error.code, error.hint, error.location or _BEGINNING)
        return DocumentHeader(profile=document_header.STRICTEST)
