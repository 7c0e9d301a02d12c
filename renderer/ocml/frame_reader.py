"""Reads whole frames from a streamed OpenChatML document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from renderer.errors import Code, OpenChatMLError, Problem
from renderer.events import Assembler, Finished, violates_constraint
from renderer.ocml import calls
from renderer.ocml.output import DocumentOpened, ProblemFound, ReaderEvent
from renderer.ocml.reader import Reader

FrameEvent: TypeAlias = DocumentOpened | ProblemFound | Finished


class FrameReader:
    """Turns the pieces of a document into whole frames: a Reader, an Assembler, and the rules that need a body (``<|constrain|>``,
    arguments, tool errors). Only the open frame is held in memory."""

    def __init__(self, *, lenient: bool = False, fragment: bool = False) -> None:
        self._reader = Reader(lenient=lenient, fragment=fragment)
        self._assembler = Assembler()
        self._lenient = lenient
        self._failure: OpenChatMLError | None = None
        self.events_before_error: list[FrameEvent] = []
        """The events before the problem, from the call that raised."""

    def feed(self, piece: str | bytes) -> list[FrameEvent]:
        """Take the next piece. Raises as ``Reader.feed`` does, in the call that finds the problem."""
        self._check_open()
        return self._folded(partial(self._reader.feed, piece))

    def finish(self) -> list[FrameEvent]:
        """Signal the end of the text. Raises as ``feed`` does."""
        self._check_open()
        return self._folded(self._reader.finish)

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _folded(self, read: Callable[[], list[ReaderEvent]]) -> list[FrameEvent]:
        found: list[FrameEvent] = []
        try:
            self._fold(self._events_of(read), found)
        except OpenChatMLError as error:
            self._failure, self.events_before_error = error, found
            raise
        return found

    def _events_of(self, read: Callable[[], list[ReaderEvent]]) -> Iterator[ReaderEvent]:
        try:
            yield from read()
        except OpenChatMLError:
            yield from self._reader.events_before_error
            raise

    def _fold(self, events: Iterable[ReaderEvent], found: list[FrameEvent]) -> None:
        for event in events:
            if isinstance(event, DocumentOpened | ProblemFound):
                found.append(event)
            elif finished := self._assembler.feed(event):
                found.extend(self._checked(finished))

    def _checked(self, finished: Finished) -> list[FrameEvent]:
        """The problems in the frame's body, then the frame."""
        problems = []
        violated = finished.error is Code.BODY_CONSTRAINT_VIOLATION
        if violated or (finished.complete and finished.error is not None and violates_constraint(finished.frame)):
            # If the reader has already flagged the frame, the Assembler did not check it.
            hint = "the body does not match its constraint"
            problems.append(Problem(Code.BODY_CONSTRAINT_VIOLATION, hint, finished.location))
        if finished.complete:
            faults = calls.body_faults(finished.frame)
            problems += [Problem(fault.code, fault.hint, finished.location, fault.is_refused) for fault in faults]
        if not problems:
            return [finished]
        for problem in problems:
            if problem.is_refused and not self._lenient:
                raise problem.error()
        return [*(ProblemFound(problem) for problem in problems), replace(finished, error=finished.error or problems[0].code)]
