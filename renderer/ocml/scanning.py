"""Scans a text stream for OpenChatML parsers: counts positions, finds control tokens, and collects the events.

Positions have a byte offset, line and column. Of the text, only a possible beginning of a token is held back. The output is the events in
order, or the error at which strict parsing stops.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from renderer.errors import ErrorCode, Location, OpenChatMLError, Problem
from renderer.events import FrameText, RawEvent
from renderer.ocml.document_header import DocumentHeader
from renderer.tokens import Token


class Cursor:
    """Converts positions in the buffer to offset, line and column. Positions must be requested in ascending order, because each character
    is counted only once.
    """

    def __init__(self) -> None:
        self._offset, self._line, self._column = 0, 1, 1
        self._mark = 0
        self._buffer = ""
        self._is_ascii = True

    def begin(self, buffer: str) -> None:
        """Continue with ``buffer``, which begins where counting stopped in the previous one."""
        self._buffer, self._mark, self._is_ascii = buffer, 0, buffer.isascii()

    def move(self, position: int) -> None:
        """Count up to ``position`` in the buffer."""
        mark, buffer = self._mark, self._buffer
        if position <= mark:
            return
        if buffer.count("\n", mark, position):
            self._line += buffer.count("\n", mark, position)
            self._column = position - buffer.rfind("\n", mark, position)
        else:
            self._column += position - mark
        self._offset += position - mark if self._is_ascii else len(buffer[mark:position].encode("utf-8"))
        self._mark = position

    def skip_byte_order_mark(self) -> None:
        """Count a byte order mark: three bytes, no column."""
        self._offset += 3

    def location(self, position: int, frame: int) -> Location:
        """The offset, line and column of ``position`` in the buffer; ``frame`` is the index of the frame there."""
        self.move(position)
        return self.here(frame)

    def here(self, frame: int | None) -> Location:
        """The offset, line and column where counting has stopped. ``frame`` is None in the document header."""
        return Location(self._offset, self._line, self._column, frame)


def location_after(location: Location, text: str) -> Location:
    """The location directly after ``text``, which begins at ``location``."""
    lines = text.count("\n")
    column = len(text) - text.rfind("\n") if lines else location.column + len(text)
    return Location(location.offset + len(text.encode("utf-8")), location.line + lines, column, location.frame)


TOKEN = re.compile(r"<\|(?:start|channel|message|call|constrain|return|end|literal|endliteral)\|>")
MAX_BEGINNING_CHARS = max(map(len, Token)) - 1
"""The largest number of characters that is ever held back."""


def beginnings(text: str) -> frozenset[str]:
    """All prefixes of ``text``, except the empty one and ``text`` itself."""
    return frozenset(text[:length] for length in range(1, len(text)))


BEGINNINGS = frozenset[str]().union(*(beginnings(token.value) for token in Token))


def held_back(buffer: str, position: int, among: frozenset[str] = BEGINNINGS) -> str:
    """The end of ``buffer``, from ``position`` on, that is one of ``among``; empty if there is none."""
    begin = buffer.rfind("<", max(position, len(buffer) - MAX_BEGINNING_CHARS))
    if begin < 0 or (held := buffer[begin:]) not in among:
        return ""
    return held


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """The document header is complete. Always the first event, for fragments too; only problems in the header come before it."""

    document: DocumentHeader


@dataclass(frozen=True, slots=True)
class ProblemFound:
    """A rule is broken. In strict reading, only problems that are flagged arrive as events."""

    problem: Problem


ReaderEvent: TypeAlias = DocumentOpened | ProblemFound | RawEvent


class Output:
    """Collects events in order and joins adjacent body text. After a failure it ignores everything."""

    def __init__(self, *, lenient: bool) -> None:
        self._lenient = lenient
        self._events: list[ReaderEvent] = []
        self.text: list[str] = []
        """Text of the open body that is not in an event yet."""
        self.failure: OpenChatMLError | None = None
        """The error that stopped the reading."""
        self.error: ErrorCode | None = None
        """The first problem in the open frame."""

    def emit(self, event: ReaderEvent) -> None:
        """Add an event, unless reading has stopped."""
        if self.failure is None:
            self._events.append(event)

    def flush(self) -> None:
        """Add an event for the buffered text."""
        if self.text:
            text = "".join(self.text)
            self.text = []
            if text and self.failure is None:
                self._events.append(FrameText(text))

    def report(self, code: ErrorCode, hint: str, location: Location, *, is_refused: bool = True) -> bool:
        """Report a problem. Returns whether reading continues."""
        if self.failure is not None:
            return False
        self.flush()
        problem = Problem(code, hint, location, is_refused)
        if is_refused and not self._lenient:
            self.failure = problem.error()
            return False
        self.error = self.error or code
        self._events.append(ProblemFound(problem))
        return True

    def take_events(self) -> list[ReaderEvent]:
        """The events since the last call, which are then cleared."""
        events, self._events = self._events, []
        return events
