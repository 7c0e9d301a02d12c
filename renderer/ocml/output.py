"""What a reader of OpenChatML tells: its events, gathered in order, and the problem at which a strict reading stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from renderer.errors import Code, OpenChatMLError, Place, Problem
from renderer.events import FrameText, RawEvent
from renderer.ocml.document_header import DocumentHeader


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """The document header is complete: always the first event but for problems in it, for fragments too."""

    document: DocumentHeader


@dataclass(frozen=True, slots=True)
class ProblemFound:
    """A rule was broken; in strict reading only what is kept and flagged arrives as an event."""

    problem: Problem


ReaderEvent: TypeAlias = DocumentOpened | ProblemFound | RawEvent


class Output:
    """Events in order; text of a body that follows on text is joined. After a failure nothing more is told."""

    def __init__(self, *, lenient: bool) -> None:
        self._lenient = lenient
        self._events: list[ReaderEvent] = []
        self.text: list[str] = []
        """The text of the open body that has been read and not been told yet."""
        self.failure: OpenChatMLError | None = None
        """What stopped the reading."""
        self.error: Code | None = None
        """The first problem in the open frame."""

    def emit(self, event: ReaderEvent) -> None:
        """Tell this, unless reading has stopped."""
        if self.failure is None:
            self._events.append(event)

    def flush(self) -> None:
        """Tell the text of the open body."""
        if self.text:
            text = "".join(self.text)
            self.text = []
            if text and self.failure is None:
                self._events.append(FrameText(text))

    def report(self, code: Code, hint: str, place: Place, *, is_refused: bool = True) -> bool:
        """Tell of a problem. Returns whether reading goes on."""
        if self.failure is not None:
            return False
        self.flush()
        problem = Problem(code, hint, place, is_refused)
        if is_refused and not self._lenient:
            self.failure = problem.error()
            return False
        self.error = self.error or code
        self._events.append(ProblemFound(problem))
        return True

    def taken(self) -> list[ReaderEvent]:
        """What has been told since this was asked last."""
        events, self._events = self._events, []
        return events
