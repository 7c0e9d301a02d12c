"""The output of an OpenChatML parser: its events in order, or the error at which strict parsing stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from renderer.errors import Code, Location, OpenChatMLError, Problem
from renderer.events import FrameText, RawEvent
from renderer.ocml.document_header import DocumentHeader


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
        self.error: Code | None = None
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

    def report(self, code: Code, hint: str, location: Location, *, is_refused: bool = True) -> bool:
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
