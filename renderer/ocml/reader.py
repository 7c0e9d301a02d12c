"""OpenChatML text, piece by piece, to events: the same events for every way of cutting the text, down to single bytes.

The reader holds no body. It holds back at most the longest beginning of a control token; a frame's header until it is complete (at most
``frame_header.HEADER_LIMIT`` characters); and a document's header until its first frame (at most 64 KiB).

*Strict* reading stops at the first refused problem; the problem is raised by the call after the one in which it was found, so that the
events before it are never lost. *Lenient* reading goes on: each problem is an event, and what could not be understood is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from renderer.errors import Code, OpenChatMLError, Place, Problem
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frames import Channel, Header, Intent, Role, Terminator
from renderer.ocml import document_header, frame_header
from renderer.ocml.calls import CallFault, Pairing
from renderer.ocml.cursor import Cursor, advanced
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT, DocumentHeader, FutureVersionError
from renderer.ocml.frame_header import HEADER_LIMIT, Fault
from renderer.ocml.utf8 import Utf8Pieces
from renderer.tokens import TERMINATORS, Token


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """The document header is complete: always the first event, for fragments too."""

    document: DocumentHeader


@dataclass(frozen=True, slots=True)
class ProblemFound:
    """A rule was broken; in strict reading only what is kept and flagged arrives as an event."""

    problem: Problem


ReaderEvent: TypeAlias = DocumentOpened | ProblemFound | RawEvent

STRAY = Header(role=Role.ASSISTANT, channel=Channel.ANALYSIS, intent=Intent.DEBUG)
"""The header under which a lenient reading keeps, hidden, what belongs to no frame or has no header that can be read."""

_TOKEN = re.compile(r"<\|(?:start|channel|message|call|constrain|return|end|literal|endliteral)\|>")
_WHOLE_HEADER = re.compile(r"<\|start\|>([^<]*+(?:<\|(?:channel|constrain)\|>[^<]*+)*+)<\|message\|>")
_WHITE_SPACE = " \t\r\n"
_LAYOUT = re.compile(r"[ \t\r\n]*")
_FIRST_FRAME = f"\n{Token.START}"
_START, _ENDLITERAL = Token.START.value, Token.ENDLITERAL.value
_BEGINNINGS = frozenset(token[:length] for token in Token for length in range(1, len(token)))
_ENDLITERAL_BEGINNINGS = frozenset(_ENDLITERAL[:length] for length in range(1, len(_ENDLITERAL)))
_FIRST_FRAME_BEGINNINGS = frozenset(_FIRST_FRAME[:length] for length in range(1, len(_FIRST_FRAME)))
_LONGEST = max(map(len, Token)) - 1
_TERMINATORS = {token.value: Terminator(token) for token in TERMINATORS}
_BYTE_ORDER_MARK = "\ufeff"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Reader:
    """Text or bytes in, events out. ``fragment``: the text is frames without a document header (as the specification's examples are)."""

    def __init__(self, *, lenient: bool = False, fragment: bool = False) -> None:
        self._lenient = lenient
        self._events: list[ReaderEvent] = []
        self._failure: OpenChatMLError | None = None
        self._is_finished = False
        # Each state reads from a position in the buffer and returns the position where the next state goes on, or None: more is needed.
        self._state: Callable[[str, int], int | None] = self._document
        self._held = ""
        self._bytes = Utf8Pieces()
        self._cursor = Cursor()
        self._head: list[str] = []
        self._head_length = 0
        self._is_new = True
        self._at_beginning = True
        self._is_too_long = False
        self._needs_version_1 = False
        self._frame_count = 0
        self._frame = Place(0, 1, 1)
        self._header = STRAY
        self._error: Code | None = None
        self._is_stray = False
        self._text: list[str] = []
        self._after_bracket = False
        self._pairing = Pairing(document_header.Profile())
        if fragment:
            self._begin_document(DocumentHeader())

    @property
    def failed(self) -> bool:
        """Whether reading has stopped at a problem, which the next call raises."""
        return self._failure is not None

    def feed(self, piece: str | bytes) -> list[ReaderEvent]:
        """Take the next piece. Raises what the piece before it broke. A piece of text may not follow half a character in bytes."""
        self._check_open()
        if isinstance(piece, str):
            if self._bytes.is_waiting:
                raise ValueError("text behind half a character")
            self._take_text(piece)
        else:
            self._take_bytes(piece, is_last=False)
        return self._taken()

    def finish(self) -> list[ReaderEvent]:
        """No more comes. Raises what was broken last, E-STREAM-TRUNCATED where the text ends inside a frame."""
        self._check_open()
        self._take_bytes(b"", is_last=True)
        if self._failure is None:
            self._end()
        self._is_finished = True
        if self._failure is not None:
            raise self._failure
        return self._taken()

    # --- pieces -------------------------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._is_finished:
            raise ValueError("this reader is finished")

    def _taken(self) -> list[ReaderEvent]:
        events, self._events = self._events, []
        return events

    def _take_bytes(self, piece: bytes, *, is_last: bool) -> None:
        text, is_broken = self._bytes.decode(piece, is_last=is_last)
        self._consume(text)
        if is_broken and self._failure is None:
            self._report(Code.PARSE_HEADER, "bytes that are no UTF-8", self._here())
            if self._failure is None:
                self._consume(self._bytes.decode_the_rest(is_last=is_last))

    def _take_text(self, piece: str) -> None:
        if piece.isascii() or (found := _SURROGATE.search(piece)) is None:
            self._consume(piece)
            return
        self._consume(piece[: found.start()])
        if self._failure is None and not self._bytes.is_mended:
            self._bytes.is_mended = True
            self._report(Code.PARSE_HEADER, "half a surrogate pair", self._here())
        if self._failure is None:
            self._consume(_SURROGATE.sub("\ufffd", piece[found.start() :]))

    def _consume(self, text: str) -> None:
        if not text or self._failure is not None:
            return
        if self._is_new:
            self._is_new = False
            if text[0] == _BYTE_ORDER_MARK:
                self._cursor.skip_byte_order_mark()
                text = text[1:]
        buffer = self._held + text if self._held else text
        self._cursor.begin(buffer)
        position: int | None = 0
        while position is not None:
            position = self._state(buffer, position)
        self._flush()
        self._cursor.move(len(buffer) - len(self._held))

    def _here(self) -> Place:
        """The place behind everything that came, what is held back included."""
        is_between = self._state in (self._document, self._between)
        return advanced(self._cursor.here(self._frame_count - (not is_between)), self._held)

    def _hold(self, buffer: str, position: int, beginnings: frozenset[str]) -> int:
        """Keep what may be the beginning of a token for the next piece; return where that begins."""
        end = len(buffer)
        begin = buffer.rfind("<", max(position, end - _LONGEST))
        self._held = buffer[begin:] if begin >= 0 else ""
        if self._held and self._held not in beginnings:
            self._held = ""
        return end - len(self._held)

    def _end(self) -> None:
        if self._state == self._document:
            self._keep_document(self._held)
            if not "".join(self._head).strip(_WHITE_SPACE):
                self._report(Code.PARSE_HEADER, "there is no document", Place(0, 1, 1))
            self._begin_document(self._read_document())
            return
        held, self._held = self._held, ""
        if self._state == self._between:
            if not held:
                return
            self._frame = self._cursor.here(self._frame_count)
            self._report(Code.STREAM_TRUNCATED, "the text ends inside a control token", self._frame)
            self._stray_frame(held)
        elif self._state == self._header_text:
            self._report(Code.STREAM_TRUNCATED, "the text ends inside a frame header", self._frame)
            self._stray_frame("".join([_START, *self._head, held]))
        else:
            self._text.append(held)
            if not self._is_stray:
                self._report(Code.STREAM_TRUNCATED, "the text ends inside a body", self._frame)
        self._flush()
        self._emit(FrameClosed(None, self._error))

    # --- what is told -------------------------------------------------------------------------------------------------------------

    def _emit(self, event: ReaderEvent) -> None:
        if self._failure is None:
            self._events.append(event)

    def _flush(self) -> None:
        if self._text:
            text = "".join(self._text)
            self._text = []
            if text:
                self._emit(FrameText(text))

    def _report(self, code: Code, hint: str, place: Place, *, is_refused: bool = True) -> None:
        if self._failure is not None:
            return
        self._flush()
        problem = Problem(code, hint, place, is_refused)
        if is_refused and not self._lenient:
            self._stop(problem.error())
            return
        self._error = self._error or code
        self._events.append(ProblemFound(problem))

    def _stop(self, error: OpenChatMLError) -> None:
        self._failure = error
        self._state = self._stopped

    def _stopped(self, _buffer: str, _position: int) -> None:
        return None

    # --- the document -------------------------------------------------------------------------------------------------------------

    def _document(self, buffer: str, position: int) -> int | None:
        """Everything before the first ``<|start|>`` that begins a line (or, behind white space alone, the document)."""
        if self._at_beginning:
            first = _LAYOUT.match(buffer, position)
            end = first.end() if first else position
            self._keep_document(buffer[position:end])
            if buffer.startswith(_START, end):
                return self._first_frame(end)
            rest = buffer[end:]
            if not rest or _START.startswith(rest):
                self._held = rest
                return None
            self._at_beginning, position = False, end
        found = buffer.find(_FIRST_FRAME, position)
        if found >= 0:
            self._keep_document(buffer[position : found + 1])
            return self._first_frame(found + 1)
        begin = buffer.rfind("\n", max(position, len(buffer) - len(_FIRST_FRAME) + 1))
        self._held = buffer[begin:] if begin >= 0 and buffer[begin:] in _FIRST_FRAME_BEGINNINGS else ""
        self._keep_document(buffer[position : len(buffer) - len(self._held)])
        return None

    def _keep_document(self, text: str) -> None:
        self._head_length += len(text) if text.isascii() else len(text.encode("utf-8"))
        if self._head_length <= DOCUMENT_HEADER_LIMIT:
            self._head.append(text)
        elif not self._is_too_long:
            # Said as soon as it is known: not a megabyte later.
            self._is_too_long = True
            self._report(Code.PARSE_HEADER, "the document header is too long", Place(0, 1, 1))

    def _first_frame(self, position: int) -> int | None:
        if self._failure is None:
            self._begin_document(self._read_document())
        return position if self._failure is None else None

    def _read_document(self) -> DocumentHeader:
        text, self._head, self._held = "".join(self._head), [], ""
        if self._is_too_long:
            return DocumentHeader(profile=document_header.STRICTEST)
        if not text.strip(_WHITE_SPACE):
            return document_header.LEGACY
        try:
            return document_header.read(text)
        except FutureVersionError as error:
            self._stop(error)
        except OpenChatMLError as error:
            self._report(error.code, error.hint, error.place or Place(0, 1, 1))
        return DocumentHeader(profile=document_header.STRICTEST)

    def _begin_document(self, document: DocumentHeader) -> None:
        self._pairing = Pairing(document.profile)
        self._needs_version_1 = document.is_version_1
        self._emit(DocumentOpened(document))
        if self._failure is None:
            self._state = self._between

    # --- frames -------------------------------------------------------------------------------------------------------------------

    def _between(self, buffer: str, position: int) -> int | None:
        layout = _LAYOUT.match(buffer, position)
        position = layout.end() if layout else position
        self._held = ""
        if position == len(buffer):
            return None
        if (found := _WHOLE_HEADER.match(buffer, position)) and found.end(1) - found.start(1) <= HEADER_LIMIT:
            self._begin_frame(position)
            return self._open(found[1], found.end())
        if buffer.startswith(_START, position):
            self._begin_frame(position)
            self._head, self._head_length, self._after_bracket = [], 0, False
            self._state = self._header_text
            return position + len(_START)
        if len(buffer) - position <= _LONGEST and buffer[position:] in _BEGINNINGS:
            self._held = buffer[position:]
            return None
        return self._stray(buffer, position)

    def _stray(self, buffer: str, position: int) -> int | None:
        self._report(Code.PARSE_HEADER, "text between frames", self._cursor.place(position, self._frame_count))
        if self._failure is not None:
            return None
        self._error = None
        token = _TOKEN.match(buffer, position)
        if token and token[0] in _TERMINATORS:
            return token.end()
        self._begin_frame(position)
        self._stray_frame("")
        return position

    def _begin_frame(self, position: int) -> None:
        self._frame = self._cursor.place(position, self._frame_count)
        self._frame_count += 1
        self._error = None

    def _header_text(self, buffer: str, position: int) -> int | None:
        """A header of which not everything is here yet, or which holds something odd."""
        while True:
            found = _TOKEN.search(buffer, position)
            end = found.start() if found else self._hold(buffer, position, _BEGINNINGS)
            is_text = found is not None and (buffer[end - 1] == "<" if end > position else self._after_bracket)
            self._keep_header(buffer[position:end])
            if self._head_length > HEADER_LIMIT:
                return self._broken_header("a frame header that is too long", end)
            if found is None:
                return None
            token, self._held = found[0], ""
            if is_text or token in (Token.CHANNEL, Token.CONSTRAIN):
                self._keep_header(token)
                position = found.end()
                if self._head_length > HEADER_LIMIT:
                    return self._broken_header("a frame header that is too long", position)
            elif token == Token.MESSAGE:
                return self._open("".join(self._head), found.end())
            else:
                return self._broken_header("a frame header without a message", end)

    def _keep_header(self, text: str) -> None:
        if text:
            self._head.append(text)
            self._head_length += len(text)
            self._after_bracket = text[-1] == "<"

    def _broken_header(self, hint: str, position: int) -> int | None:
        self._held = ""
        self._report(Code.PARSE_HEADER, hint, self._frame)
        if self._failure is not None:
            return None
        self._stray_frame(_START + "".join(self._head))
        return position

    def _stray_frame(self, text: str) -> None:
        """Keep ``text``, and what follows up to the end of a frame or the beginning of one, hidden."""
        self._header, self._is_stray, self._state = STRAY, True, self._body
        self._error, self._after_bracket = self._error or Code.PARSE_HEADER, text.endswith("<")
        self._emit(FrameOpened(STRAY, self._frame))
        self._text.append(text)

    def _open(self, raw: str, position: int) -> int | None:
        reading = frame_header.read(raw)
        header = reading.header
        hide = False
        if reading.is_version_2 and self._needs_version_1:
            self._version_2("a 2.x feature in a transcript that is not of version 2")
        for fault in (*reading.faults, *self._pairing.opened(header)):
            if self._failure is not None:
                return None
            hide = hide or fault.hides
            refused = not isinstance(fault, CallFault) or fault.is_refused
            self._report(fault.code, fault.hint, self._inside(raw, fault), is_refused=refused)
        if self._failure is not None:
            return None
        self._header = replace(header, intent=Intent.DEBUG) if hide else header
        self._is_stray, self._after_bracket, self._state, self._held = False, False, self._body, ""
        self._events.append(FrameOpened(self._header, self._frame))
        return position

    def _inside(self, raw: str, fault: Fault) -> Place:
        if isinstance(fault, CallFault):
            return self._frame
        return advanced(self._frame, _START + raw[: fault.at])

    def _version_2(self, hint: str) -> None:
        self._needs_version_1 = False
        self._report(Code.PARSE_HEADER, hint, self._frame)

    # --- bodies -------------------------------------------------------------------------------------------------------------------

    def _body(self, buffer: str, position: int) -> int | None:
        while True:
            found = _TOKEN.search(buffer, position)
            if found is None:
                end = self._hold(buffer, position, _BEGINNINGS)
                if end > position:
                    self._text.append(buffer[position:end])
                    self._after_bracket = buffer[end - 1] == "<"
                return None
            begin = found.start()
            is_text = buffer[begin - 1] == "<" if begin > position else self._after_bracket
            if begin > position:
                self._text.append(buffer[position:begin])
            self._after_bracket = False
            if not is_text:
                self._held = ""
                return self._token_in_body(found[0], begin, found.end())
            # One bracket of the run has been released already; it stands for this token's own.
            self._text.append(found[0][1:])
            position = found.end()

    def _token_in_body(self, token: str, begin: int, end: int) -> int | None:
        if token in _TERMINATORS:
            return self._close(_TERMINATORS[token], end)
        if token == Token.LITERAL:
            if self._needs_version_1:
                self._version_2("a literal block in a transcript that is not of version 2")
            if self._failure is None:
                self._state = self._literal
            return end
        if self._is_stray:
            if token == Token.START:
                return self._cut(begin)
            self._text.append(token)
            return end
        self._report(Code.PARSE_HEADER, "a control token inside a body", self._cursor.place(begin, self._frame_count - 1))
        if self._failure is not None:
            return None
        if token == Token.ENDLITERAL:
            return end
        if token == Token.START:
            return self._cut(begin)
        # A header's token where a body should end: what follows may have been meant for another channel, and is hidden.
        self._cut(begin)
        self._begin_frame(begin)
        self._stray_frame(token)
        return end

    def _cut(self, position: int) -> int:
        """Close the open frame as incomplete."""
        self._flush()
        self._emit(FrameClosed(None, self._error or Code.PARSE_HEADER))
        self._state = self._between
        return position

    def _literal(self, buffer: str, position: int) -> int | None:
        end = buffer.find(_ENDLITERAL, position)
        if end >= 0:
            self._text.append(buffer[position:end])
            self._state, self._held = self._body, ""
            return end + len(_ENDLITERAL)
        self._text.append(buffer[position : self._hold(buffer, position, _ENDLITERAL_BEGINNINGS)])
        return None

    def _close(self, terminator: Terminator, position: int) -> int | None:
        self._flush()
        if self._is_stray:
            terminator = Terminator.END
        elif terminator is not Terminator.END:
            if self._needs_version_1:
                self._version_2("a frame end of format 2.x in a transcript that is not of version 2")
            fault = self._pairing.closed(self._header, terminator)
            if fault is not None:
                self._report(fault.code, fault.hint, self._frame)
                terminator = Terminator.END
        if self._failure is not None:
            return None
        self._events.append(FrameClosed(terminator, self._error))
        self._state = self._between
        return position
