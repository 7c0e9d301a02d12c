"""The error codes of OpenChatML 2.2 (specification section 14), each with a sentence for people, and the exception that has one.

No sentence or hint ever quotes a transcript. A product that uses this package may add codes of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class ErrorCode(StrEnum):
    """Base class for lists of error codes. Each code has one ``sentence`` that people read; it never quotes a transcript."""

    _value_: str
    sentence: str

    def __new__(cls, code: str, sentence: str = "") -> Self:
        member = str.__new__(cls, code)
        member._value_, member.sentence = code, sentence
        return member


class Code(ErrorCode):
    """An error code of OpenChatML. Logs, audit rows, pages and sockets carry it instead of details."""

    PARSE_HEADER = "E-PARSE-HEADER", "The model wrote a message that could not be read."
    PARSE_CHANNEL_MISSING = "E-PARSE-CHANNEL-MISSING", "The model did not say whom this message is for, so it is not shown."
    BODY_CONSTRAINT_VIOLATION = "E-BODY-CONSTRAINT-VIOLATION", "The answer does not have the required format."
    CALL_SCHEMA = "E-CALL-SCHEMA", "The model made a tool call that could not be carried out."
    TOOL_TIMEOUT = "E-TOOL-TIMEOUT", "A tool took too long."
    TOOL_CANCELLED = "E-TOOL-CANCELLED", "A tool was cancelled."
    STREAM_TRUNCATED = "E-STREAM-TRUNCATED", "The answer was cut off before it was complete."
    PERM_VISIBILITY = "E-PERM-VISIBILITY", "You are not allowed to see this. The attempt has been recorded."


@dataclass(frozen=True, slots=True)
class Location:
    """Where an error is: byte offset from 0, line and column from 1 (column in characters), frame index from 0."""

    offset: int
    line: int
    column: int
    frame: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a transcript, as a value. A lenient reader collects these; a strict one raises the first (see ``error``)."""

    code: ErrorCode
    hint: str
    """Written by this package; it never quotes the transcript."""
    location: Location | None = None
    is_refused: bool = True
    """Whether a strict reader stops here; otherwise it keeps the frame and flags it."""

    @property
    def sentence(self) -> str:
        """The sentence for people."""
        return self.code.sentence

    def __str__(self) -> str:
        where = f" (line {self.location.line}, column {self.location.column})" if self.location else ""
        return f"{self.code}: {self.hint}{where}"

    def error(self) -> OpenChatMLError:
        """This problem as an exception."""
        kind = ParseHeaderError if self.code is Code.PARSE_HEADER else OpenChatMLError
        return kind(self.hint, self.location, self.code)


class OpenChatMLError(Exception):
    """A transcript breaks a rule; ``code`` and ``location`` say which and where. ``hint`` never quotes a body."""

    def __init__(self, hint: str, location: Location | None = None, code: ErrorCode = Code.PARSE_HEADER) -> None:
        self.hint = hint
        self.location = location
        self.code = code
        super().__init__(str(self.problem))

    @property
    def problem(self) -> Problem:
        """This error as a value."""
        return Problem(self.code, self.hint, self.location)

    @property
    def sentence(self) -> str:
        """The sentence for people."""
        return self.code.sentence


class ParseHeaderError(OpenChatMLError):
    """``E-PARSE-HEADER``: a document header or a frame header is malformed."""
