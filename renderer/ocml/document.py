"""Reads, checks and writes whole OpenChatML 2.2 documents.

Some rules for a frame depend on its document: on the version, the profile, and the calls before it. Both writers and the JSON reader apply
them with ``DocumentRules``; the text reader applies the same rules while it reads.

Reading is strict unless the call says ``lenient``. ``dump_frame`` and ``parse_frame`` are for one frame (a stored message is one); ``dump``
and ``parse`` are for a document of header and frames. ``parse(dump(t)) == t`` for every valid transcript, and ``dump(parse(s)) == s`` for
every ``s`` that ``dump`` wrote. ``FrameReader`` takes a document in pieces and returns whole frames; ``reader.Reader``, which it uses,
returns events and stores no body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeAlias

from renderer.errors import Code, Location, OpenChatMLError, ParseHeaderError, Problem
from renderer.events import Assembler, Finished
from renderer.frame_kinds import BROKEN
from renderer.frames import Frame, Header, Role, Terminator, Transcript
from renderer.ocml import calls, document_header, frame_header
from renderer.ocml.calls import Pairing
from renderer.ocml.document_header import DocumentHeader
from renderer.ocml.frame_header import HeaderFault, canonical
from renderer.ocml.plain_values import SURROGATE
from renderer.ocml.reader import Reader
from renderer.ocml.scanning import DocumentOpened, ProblemFound, ReaderEvent
from renderer.tokens import escape


class DocumentRules:
    """Takes the frames of one document in order. Stores the ids of calls, but no bodies."""

    def __init__(self, document: DocumentHeader) -> None:
        self._is_version_1 = document.is_version_1
        self._pairing = Pairing(document.profile)

    def at_start(self, frame: Frame) -> Iterator[HeaderFault]:
        """The errors in the next frame's header and, in a document of version 1, in its end; refused or flagged."""
        if self._is_version_1 and _is_version_2(frame):
            self._is_version_1 = False
            yield HeaderFault(Code.PARSE_HEADER, "a version 2 feature in a transcript of another version", hides=False)
        yield from self._pairing.opened(frame.header)

    def at_end(self, frame: Frame) -> HeaderFault | None:
        """The error in how the frame ends, if any. Otherwise the frame is recorded if it is a call."""
        return self._pairing.closed(frame.header, frame.terminator)


def check_written(transcript: Transcript) -> None:
    """Raise the first problem that strict reading would refuse, except in what bodies say."""
    rules = DocumentRules(document_header.of_transcript(transcript))
    for frame in transcript.frames:
        frame = replace(frame, header=canonical(frame.header))
        for fault in (*rules.at_start(frame), rules.at_end(frame)):
            if fault is not None and fault.is_refused:
                raise fault.problem().error()


def _is_version_2(frame: Frame) -> bool:
    header = frame.header
    if frame.terminator is not Terminator.END or len(header.as_written()) > 1 or header.role in (Role.DEVELOPER, Role.TOOL):
        return True
    return frame.body.endswith("<")  # only a literal block can contain that


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
        return self._folded(partial(self._reader.feed, piece))

    def finish(self) -> list[FrameEvent]:
        """Signal the end of the text. Raises as ``feed`` does."""
        return self._folded(self._reader.finish)

    def _folded(self, read: Callable[[], list[ReaderEvent]]) -> list[FrameEvent]:
        if self._failure is not None:
            raise self._failure
        found: list[FrameEvent] = []
        try:
            for event in self._events_of(read):
                if isinstance(event, DocumentOpened | ProblemFound):
                    found.append(event)
                elif finished := self._assembler.feed(event):
                    found += self._checked(finished)
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

    def _checked(self, finished: Finished) -> list[FrameEvent]:
        """The problems in the frame's body, then the frame."""
        faults = calls.body_faults(finished.frame) if finished.complete else ()
        problems = [fault.problem(finished.location) for fault in faults]
        if not problems:
            return [finished]
        for problem in problems:
            if problem.is_refused and not self._lenient:
                raise problem.error()
        return [*map(ProblemFound, problems), replace(finished, error=finished.error or problems[0].code)]


Source: TypeAlias = str | bytes | Iterable[str] | Iterable[bytes]
"""A whole text, or its pieces in order."""

PROBLEM_LIMIT = 1000
"""The most problems that a report lists. All of them are counted."""


# --- writing ----------------------------------------------------------------------------------------------------------------------


def dump(transcript: Transcript) -> str:
    """The canonical text of a whole document, ending in a line break. Raises as strict reading would, except for the content of bodies."""
    parts = [document_header.write(transcript)]
    check_written(transcript)
    parts.extend(dump_frame(frame) + "\n" for frame in transcript.frames)
    return "".join(parts)


def dump_frame(frame: Frame) -> str:
    """The canonical text of one frame. Raises as strict reading would if the header or the terminator breaks a rule."""
    check_frame(frame)
    return f"{frame_header.write(frame.header)}{escape(frame.body)}{frame.terminator}"


def check_frame(frame: Frame) -> None:
    """Raise if no format writes this frame, whatever document it is in: nothing would read it."""
    if fault := frame_header.fault_of_terminator(frame.header, frame.terminator):
        raise fault.problem().error()
    frame_header.write(frame.header)
    if SURROGATE.search(frame.body):
        raise ParseHeaderError("an unpaired surrogate")


def writable(frame: Frame) -> Frame:
    """The frame itself, or, if ``dump_frame`` would refuse it, the nearest one that can be written. It is never more visible.

    Invalid values that do not decide who may see the frame are left out. If one that does is invalid, the frame becomes hidden analysis.
    A ``<|call|>`` that cannot be executed becomes ``<|end|>``, a lone surrogate U+FFFD.
    """
    if SURROGATE.search(frame.body):
        frame = replace(frame, body=SURROGATE.sub("\ufffd", frame.body))
    header = frame_header.canonical(frame.header)
    try:
        frame_header.write(header)
    except ParseHeaderError:
        header = _without_invalid_values(header)
    if header != frame.header:
        frame = replace(frame, header=header)
    return frame if frame_header.fault_of_terminator(header, frame.terminator) is None else replace(frame, terminator=Terminator.END)


def _without_invalid_values(header: Header) -> Header:
    values: dict[str, Any] = {item.name: getattr(header, item.name) for item in fields(Header)}
    bad = {name for name, value in values.items() if value is not None and not frame_header.VALUE.fullmatch(value)}
    values |= dict.fromkeys(bad)
    header = BROKEN if bad & _DECIDES else Header(**values)
    try:
        frame_header.write(header)
    except ParseHeaderError:
        return BROKEN
    return header


_DECIDES = frozenset({"role", "channel", "recipient", "intent"})


# --- reading ----------------------------------------------------------------------------------------------------------------------


def parse(text: str | bytes, *, fragment: bool = False) -> Transcript:
    """Read a whole document strictly. ``fragment``: the text is frames without a document header.

    Raises:
        OpenChatMLError: the first rule that is broken, as the class for its code.
    """
    return read_strictly(text, fragment=fragment).transcript


def parse_frame(text: str) -> Frame:
    """Read exactly one frame, as ``dump_frame`` wrote it. The body and the rules for whole documents are not checked."""
    reader, assembler = Reader(fragment=True), Assembler()
    events = [*reader.feed(text), *reader.finish()]
    raw = [event for event in events if not isinstance(event, DocumentOpened | ProblemFound)]
    found = [finished for event in raw if (finished := assembler.feed(event))]
    if len(found) != 1:
        raise ParseHeaderError("exactly one frame was expected", Location(0, 1, 1))
    return found[0].frame


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a document in any format: its header, its frames with their status, and all problems in order."""

    document: DocumentHeader
    finished: tuple[Finished, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames in order, complete or not."""
        return tuple(item.frame for item in self.finished)

    @property
    def transcript(self) -> Transcript:
        """The document as a value."""
        header = self.document
        return Transcript(self.frames, header.version, header.model, header.settings, header.extra)


def read_strictly(source: Source, *, fragment: bool = False) -> Reading:
    """As ``parse``, but also returns the status of each frame; ``problems`` are those that were only flagged."""
    return _read(FrameReader(fragment=fragment), source)


def read_leniently(source: Source, *, fragment: bool = False) -> Reading:
    """Read as much of a document as possible, hide what cannot be understood, and report every problem.

    Raises:
        FutureVersionError: the document has a major version that is not known yet. Nothing else is raised.
    """
    return _read(FrameReader(lenient=True, fragment=fragment), source)


def _read(reader: FrameReader, source: Source) -> Reading:
    document, finished, problems = DocumentHeader(), list[Finished](), list[Problem]()
    for event in _events(reader, source):
        match event:
            case DocumentOpened(document=opened):
                document = opened
            case ProblemFound(problem=problem):
                problems.append(problem)
            case Finished():
                finished.append(event)
    return Reading(document, tuple(finished), tuple(problems))


@dataclass(frozen=True, slots=True)
class Report:
    """The problems of a document. ``problems`` are the first of ``count``; strict reading refuses ``refused`` of them."""

    document: DocumentHeader | None
    frames: int
    problems: tuple[Problem, ...]
    count: int
    refused: int

    @property
    def is_accepted(self) -> bool:
        """Whether strict reading accepts the document. It may still have flagged problems."""
        return self.refused == 0

    @property
    def is_clean(self) -> bool:
        """Whether there is no problem at all."""
        return self.count == 0


def check(source: Source, *, fragment: bool = False) -> Report:
    """Read a document leniently and report its problems. Never raises because of the content; holds one frame in memory at a time."""
    document: DocumentHeader | None = None
    frames, problems, count, refused = 0, list[Problem](), 0, 0
    for event in _all_events(FrameReader(lenient=True, fragment=fragment), source):
        match event:
            case DocumentOpened(document=document):
                pass
            case Finished():
                frames += 1
            case ProblemFound(problem=problem):
                count += 1
                refused += problem.is_refused
                problems += [problem] if count <= PROBLEM_LIMIT else []
    return Report(document, frames, tuple(problems), count, refused)


def _all_events(reader: FrameReader, source: Source) -> Iterator[FrameEvent]:
    """The events, and the error at which reading stops as one of them."""
    try:
        yield from _events(reader, source)
    except OpenChatMLError as error:
        yield from reader.events_before_error
        yield ProblemFound(error.problem)


def _events(reader: FrameReader, source: Source) -> Iterator[FrameEvent]:
    for piece in [source] if isinstance(source, str | bytes) else source:
        yield from reader.feed(piece)
    yield from reader.finish()
