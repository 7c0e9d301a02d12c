"""Reads, checks and writes whole OpenChatML 2.2 documents.

Reading is strict unless the call says ``lenient``. ``dump_frame`` and ``parse_frame`` are for one frame (a stored message is one);
``dump`` and ``parse`` are for a document of header and frames. ``parse(dump(t)) == t`` for every valid transcript, and
``dump(parse(s)) == s`` for every ``s`` that ``dump`` wrote. ``FrameReader`` takes a document in pieces and returns whole frames;
``reader.Reader``, which it uses, returns events and stores no body.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from renderer.errors import Location, OpenChatMLError, ParseHeaderError, Problem
from renderer.events import Assembler, Finished
from renderer.frame_kinds import BROKEN
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.ocml import document_header, frame_header
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT, DocumentHeader
from renderer.ocml.document_rules import check_written
from renderer.ocml.frame_reader import FrameEvent, FrameReader
from renderer.ocml.output import DocumentOpened, ProblemFound
from renderer.ocml.reader import Reader
from renderer.tokens import escape

__all__ = [
    "DOCUMENT_HEADER_LIMIT",
    "DocumentHeader",
    "DocumentOpened",
    "FrameEvent",
    "FrameReader",
    "ProblemFound",
    "Reader",
    "Reading",
    "Report",
    "check",
    "dump",
    "dump_document_header",
    "dump_frame",
    "parse",
    "parse_frame",
    "read_leniently",
    "read_strictly",
    "writable",
]

Source: TypeAlias = str | bytes | Iterable[str] | Iterable[bytes]
"""A whole text, or its pieces in order."""

PROBLEM_LIMIT = 1000
"""The most problems that a report lists. All of them are counted."""


# --- writing ----------------------------------------------------------------------------------------------------------------------


def dump(transcript: Transcript) -> str:
    """The canonical text of a whole document, ending in a line break. Raises as strict reading would, except for the content of bodies."""
    parts = [dump_document_header(transcript)]
    check_written(transcript)
    parts.extend(dump_frame(frame) + "\n" for frame in transcript.frames)
    return "".join(parts)


def dump_document_header(transcript: Transcript) -> str:
    """The YAML header (specification section 2). Raises ParseHeaderError if reading it back would not give the same."""
    return document_header.write(transcript)


def dump_frame(frame: Frame) -> str:
    """The canonical text of one frame. Raises as strict reading would if the header or the terminator breaks a rule."""
    if fault := frame_header.fault_of_terminator(frame.header, frame.terminator):
        raise Problem(fault.code, fault.hint).error()
    return f"{frame_header.write(frame.header)}{escape(frame.body)}{frame.terminator}"


def writable(frame: Frame) -> Frame:
    """The frame itself, or, if ``dump_frame`` would refuse it, the nearest one that can be written. It is never more visible.

    Invalid values that do not decide who may see the frame are left out. If one that does is invalid, the frame becomes hidden analysis.
    A ``<|call|>`` that cannot be executed becomes ``<|end|>``.
    """
    header = frame_header.canonical(frame.header)
    try:
        frame_header.write(header)
    except ParseHeaderError:
        header = _without_invalid_values(header)
    if header != frame.header:
        frame = replace(frame, header=header)
    return frame if frame_header.fault_of_terminator(header, frame.terminator) is None else replace(frame, terminator=Terminator.END)


def _without_invalid_values(header: Header) -> Header:
    bad = {item.name for item in fields(Header) if not _is_writable(getattr(header, item.name))}
    values: dict[str, Any] = {item.name: None if item.name in bad else getattr(header, item.name) for item in fields(Header)}
    header = BROKEN if bad & _DECIDES else Header(**values)
    try:
        frame_header.write(header)
    except ParseHeaderError:
        return BROKEN
    return header


_DECIDES = frozenset({"role", "channel", "recipient", "intent"})


def _is_writable(value: str | None) -> bool:
    return value is None or frame_header.VALUE.fullmatch(value) is not None


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
    """The result of reading a document: its header, its frames with their status, and all problems in order."""

    document: DocumentHeader
    finished: tuple[Finished, ...]
    problems: tuple[Problem, ...]

    @property
    def transcript(self) -> Transcript:
        """The document as a value."""
        header = self.document
        return Transcript(tuple(item.frame for item in self.finished), header.version, header.model, header.settings, header.extra)


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
    reader = FrameReader(lenient=True, fragment=fragment)
    report = _Report()
    try:
        for event in _events(reader, source):
            report.add(event)
    except OpenChatMLError as error:
        for event in (*reader.events_before_error, ProblemFound(error.problem)):
            report.add(event)
    return Report(report.document, report.frames, tuple(report.problems), report.count, report.refused)


def _events(reader: FrameReader, source: Source) -> Iterable[FrameEvent]:
    for piece in [source] if isinstance(source, str | bytes) else source:
        yield from reader.feed(piece)
    yield from reader.finish()


@dataclass(slots=True)
class _Report:
    """A report under construction."""

    document: DocumentHeader | None = None
    frames: int = 0
    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    refused: int = 0

    def add(self, event: FrameEvent) -> None:
        match event:
            case DocumentOpened(document=document):
                self.document = document
            case Finished():
                self.frames += 1
            case ProblemFound(problem=problem):
                self.count += 1
                self.refused += problem.is_refused
                if len(self.problems) < PROBLEM_LIMIT:
                    self.problems.append(problem)
