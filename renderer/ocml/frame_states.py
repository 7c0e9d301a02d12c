"""The state machine that parses frames from streamed text.

There is a state for each part: between frames, in a header, in a body, in a literal block. A state reads from a position in the buffer
and returns the position where the next state begins, or None if it needs more text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from renderer.errors import Code, Location
from renderer.events import FrameClosed, FrameOpened
from renderer.frame_kinds import BROKEN
from renderer.frames import Intent, Terminator
from renderer.ocml import frame_header
from renderer.ocml.calls import Pairing
from renderer.ocml.document_header import DocumentHeader
from renderer.ocml.frame_header import HEADER_LIMIT
from renderer.ocml.scanning import BEGINNINGS, MAX_BEGINNING_CHARS, TOKEN, Cursor, Output, beginnings, held_back, location_after
from renderer.tokens import TERMINATORS, Token

_LEADING_SPACE = re.compile(r"[ \t\r\n]*")
_START, _ENDLITERAL = Token.START.value, Token.ENDLITERAL.value
_ENDLITERAL_BEGINNINGS = beginnings(_ENDLITERAL)
_TERMINATORS = {token.value: Terminator(token) for token in TERMINATORS}
_IN_A_HEADER = (Token.CHANNEL.value, Token.CONSTRAIN.value)


class FrameStates:
    """The frames of one document. ``held`` is the end of the last buffer if it may be the beginning of a token."""

    def __init__(self, document: DocumentHeader, cursor: Cursor, output: Output) -> None:
        self._output = output
        self._cursor = cursor
        self._pairing = Pairing(document.profile)
        self._needs_version_1 = document.is_version_1
        # A function, not a method: a reader that refers to itself would wait for the garbage collector.
        self._state: Callable[[FrameStates, str, int], int | None] = FrameStates._between
        self.held = ""
        self._head: list[str] = []
        self._head_length = 0
        self._frame_count = 0
        self._frame = Location(0, 1, 1)
        self._header = BROKEN
        self._is_stray = False
        self._after_bracket = False

    @property
    def number(self) -> int:
        """The index of the open frame, or of the next one if none is open."""
        return self._frame_count - (self._state is not FrameStates._between)

    def step(self, buffer: str, position: int) -> int | None:
        """Parse from a position in the buffer. Returns where to continue; None if more text is needed."""
        return self._state(self, buffer, position)

    def finish(self) -> None:
        """Signal the end of the text. An open frame is reported as incomplete."""
        output, held, self.held = self._output, self.held, ""
        if self._state is FrameStates._between:
            if not held:
                return
            self._frame, output.error = self._cursor.here(self._frame_count), None
            output.report(Code.STREAM_TRUNCATED, "the text ends inside a control token", self._frame)
            self._stray_frame(held)
        elif self._state is FrameStates._header_text:
            output.report(Code.STREAM_TRUNCATED, "the text ends inside a frame header", self._frame)
            self._stray_frame("".join([_START, *self._head, held]))
        else:
            output.text.append(held)
            if not self._is_stray or self._state is FrameStates._literal:
                output.report(Code.STREAM_TRUNCATED, "the text ends inside a body", self._frame)
        output.flush()
        output.emit(FrameClosed(None, output.error))

    # --- between frames -----------------------------------------------------------------------------------------------------------

    def _between(self, buffer: str, position: int) -> int | None:
        space = _LEADING_SPACE.match(buffer, position)
        position = space.end() if space else position
        self.held = ""
        if position == len(buffer):
            return None
        if buffer.startswith(_START, position):
            self._begin_frame(position)
            self._head, self._head_length, self._after_bracket = [], 0, False
            self._state = FrameStates._header_text
            return position + len(_START)
        if len(buffer) - position <= MAX_BEGINNING_CHARS and buffer[position:] in BEGINNINGS:
            self.held = buffer[position:]
            return None
        return self._stray(buffer, position)

    def _stray(self, buffer: str, position: int) -> int | None:
        if not self._output.report(Code.PARSE_HEADER, "text between frames", self._cursor.location(position, self._frame_count)):
            return None
        token = TOKEN.match(buffer, position)
        if token and token[0] in _TERMINATORS:
            return token.end()
        self._begin_frame(position)
        self._stray_frame("")
        return position

    def _begin_frame(self, position: int) -> None:
        self._frame = self._cursor.location(position, self._frame_count)
        self._frame_count += 1
        self._output.error = None

    # --- headers ------------------------------------------------------------------------------------------------------------------

    def _header_text(self, buffer: str, position: int) -> int | None:
        while True:
            found = TOKEN.search(buffer, position)
            if found is None:
                self.held = held_back(buffer, position)
                end = len(buffer) - len(self.held)
            else:
                end, self.held = found.start(), ""
            is_text = found is not None and self._is_escaped(buffer, position, end)
            if not self._keep_header(buffer[position:end]):
                return self._too_long(end)
            if found is None:
                return None
            if not is_text and found[0] not in _IN_A_HEADER:
                return self._end_of_header(found[0], end, found.end())
            position = found.end()
            if not self._keep_header(found[0]):
                return self._too_long(position)

    def _end_of_header(self, token: str, begin: int, end: int) -> int | None:
        if token == Token.MESSAGE:
            return self._open("".join(self._head), end)
        return self._broken_header("a frame header without a message", begin)

    def _is_escaped(self, buffer: str, position: int, begin: int) -> bool:
        """Whether there is a ``<`` directly before the token at ``begin``, in this buffer or at the end of the previous one."""
        return buffer[begin - 1] == "<" if begin > position else self._after_bracket

    def _keep_header(self, text: str) -> bool:
        """Add to the header. Returns whether it is still short enough."""
        if text:
            self._head.append(text)
            self._head_length += len(text)
            self._after_bracket = text[-1] == "<"
        return self._head_length <= HEADER_LIMIT

    def _too_long(self, position: int) -> int | None:
        return self._broken_header("the frame header is too long", position)

    def _broken_header(self, hint: str, position: int) -> int | None:
        self.held = ""
        if not self._output.report(Code.PARSE_HEADER, hint, self._frame):
            return None
        self._stray_frame(_START + "".join(self._head))
        return position

    def _stray_frame(self, text: str) -> None:
        """Store ``text`` as a hidden frame, with everything up to the next end or beginning of a frame."""
        output = self._output
        self._header, self._is_stray, self._state = BROKEN, True, FrameStates._body
        output.error, self._after_bracket = output.error or Code.PARSE_HEADER, text.endswith("<")
        output.emit(FrameOpened(BROKEN, self._frame))
        output.text.append(text)

    def _open(self, raw: str, position: int) -> int | None:
        reading = frame_header.read(raw)
        header = reading.header
        if reading.is_version_2 and self._needs_version_1 and not self._version_2("a version 2 feature in a transcript of another version"):
            return None
        hide = False
        for fault in (*reading.faults, *self._pairing.opened(header)):
            hide = hide or fault.hides
            location = self._frame if fault.at is None else location_after(self._frame, _START + raw[: fault.at])
            if not self._output.report(fault.code, fault.hint, location, is_refused=fault.is_refused):
                return None
        self._header = replace(header, intent=Intent.DEBUG) if hide else header
        self._is_stray, self._after_bracket, self._state, self.held = False, False, FrameStates._body, ""
        self._output.emit(FrameOpened(self._header, self._frame))
        return position

    def _version_2(self, hint: str) -> bool:
        """Report the first feature of version 2 in a legacy document. Returns whether reading continues."""
        self._needs_version_1 = False
        return self._output.report(Code.PARSE_HEADER, hint, self._frame)

    # --- bodies -------------------------------------------------------------------------------------------------------------------

    def _body(self, buffer: str, position: int) -> int | None:
        """Read the body from ``position``. Returns where to read on behind the token that ends it, or None if the buffer ends before
        that."""
        text = self._output.text
        while True:
            found = TOKEN.search(buffer, position)
            if found is None:
                self.held = held_back(buffer, position)
                end = len(buffer) - len(self.held)
                if end > position:
                    text.append(buffer[position:end])
                    self._after_bracket = buffer[end - 1] == "<"
                return None
            begin = found.start()
            is_text = self._is_escaped(buffer, position, begin)
            if begin > position:
                text.append(buffer[position:begin])
            self._after_bracket = False
            if not is_text:
                self.held = ""
                return self._token_in_body(found[0], begin, found.end())
            # One ``<`` of the run has already been released as text; it counts as part of the token.
            text.append(found[0][1:])
            position = found.end()

    def _token_in_body(self, token: str, begin: int, end: int) -> int | None:
        if token in _TERMINATORS:
            return self._close(_TERMINATORS[token], end)
        if token == Token.LITERAL:
            return self._begin_literal(end)
        if not self._is_stray:
            return self._misplaced(token, begin, end)
        if token == Token.START:
            return self._cut(begin)
        self._output.text.append(token)
        return end

    def _begin_literal(self, position: int) -> int | None:
        if self._needs_version_1 and not self._version_2("a literal block in a transcript that is not of version 2"):
            return None
        self._state = FrameStates._literal
        return position

    def _misplaced(self, token: str, begin: int, end: int) -> int | None:
        """Handle a token that is not allowed in a body."""
        if not self._output.report(Code.PARSE_HEADER, "a control token inside a body", self._cursor.location(begin, self._frame_count - 1)):
            return None
        if token == Token.ENDLITERAL:
            return end
        self._cut(begin)
        if token == Token.START:
            return begin
        # A header token inside a body: the following text may have been meant for another channel, so it is hidden.
        self._begin_frame(begin)
        self._stray_frame(token)
        return end

    def _cut(self, position: int) -> int:
        """Close the open frame as incomplete."""
        self._output.flush()
        self._output.emit(FrameClosed(None, self._output.error))
        self._state = FrameStates._between
        return position

    def _literal(self, buffer: str, position: int) -> int | None:
        end = buffer.find(_ENDLITERAL, position)
        if end >= 0:
            self._output.text.append(buffer[position:end])
            self._state, self.held = FrameStates._body, ""
            return end + len(_ENDLITERAL)
        self.held = held_back(buffer, position, _ENDLITERAL_BEGINNINGS)
        self._output.text.append(buffer[position : len(buffer) - len(self.held)])
        return None

    def _close(self, terminator: Terminator, position: int) -> int | None:
        self._output.flush()
        if self._is_stray:
            terminator = Terminator.END
        elif terminator is not Terminator.END:
            if self._needs_version_1 and not self._version_2("a frame end of format 2.x in a transcript that is not of version 2"):
                return None
            if fault := self._pairing.closed(self._header, terminator):
                if not self._output.report(fault.code, fault.hint, self._frame):
                    return None
                terminator = Terminator.END
        self._output.emit(FrameClosed(terminator, self._output.error))
        self._state = FrameStates._between
        return position
