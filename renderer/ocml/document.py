"""OpenChatML 2.2 text to and from frames and transcripts: strict and lenient reading, checking, and the one canonical way to write it.

Reading is strict unless the word ``lenient`` stands in the call.

``dump_frame`` and ``parse_frame`` carry one frame (that is what a stored message is); ``dump`` and ``parse`` a document of header and
frames. ``parse(dump(t)) == t`` for every transcript that keeps the rules, and ``dump(parse(s)) == s`` for every ``s`` that ``dump`` wrote.
``FrameReader`` takes a document in pieces and gives whole frames; ``reader.Reader``, below it, holds no body and gives events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from renderer.errors import OpenChatMLError, ParseHeaderError, Place, Problem
from renderer.events import Assembler, Finished
from renderer.frame_kinds import BROKEN
from renderer.frames import HEADER_VALUE, Frame, Header, Terminator, Transcript
from renderer.ocml import document_header, frame_header
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT, DocumentHeader
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
"""A text, or its pieces in order."""

PROBLEM_LIMIT = 1000
"""How many problems a report lists. All of them are counted."""


# --- writing ----------------------------------------------------------------------------------------------------------------------


def dump(transcript: Transcript) -> str:
    """The canonical text of a whole document, ending in a line break."""
    parts = [dump_document_header(transcript)]
    parts.extend(dump_frame(frame) + "\n" for frame in transcript.frames)
    return "".join(parts)


def dump_document_header(transcript: Transcript) -> str:
    """The YAML header (specification section 2). Raises ParseHeaderError where it could not be read back as it is."""
    return document_header.write(transcript)


def dump_frame(frame: Frame) -> str:
    """The canonical text of one frame. Raises as reading it strictly would where its header or terminator breaks a rule."""
    if fault := frame_header.fault_of_terminator(frame.header, frame.terminator):
        raise Problem(fault.code, fault.hint).error()
    return f"{frame_header.write(frame.header)}{escape(frame.body)}{frame.terminator}"


def writable(frame: Frame) -> Frame:
    """The frame itself, or, where ``dump_frame`` would refuse it, the nearest one that can be written, never more visible.

    Values that do not decide who may see the frame are left out; where one that does cannot be written, the frame becomes hidden
    analysis. A ``<|call|>`` that cannot be carried out becomes ``<|end|>``.
    """
    header = frame_header.canonical(frame.header)
    bad = {item.name for item in fields(Header) if not _is_writable(getattr(header, item.name))}
    kept: dict[str, Any] = {item.name: None if item.name in bad else getattr(header, item.name) for item in fields(Header)}
    header = BROKEN if bad & _DECIDES else Header(**kept)
    try:
        frame_header.write(header)
    except ParseHeaderError:
        header = BROKEN
    if header != frame.header:
        frame = replace(frame, header=header)
    return frame if frame_header.fault_of_terminator(header, frame.terminator) is None else replace(frame, terminator=Terminator.END)


_DECIDES = frozenset({"role", "channel", "recipient", "intent"})


def _is_writable(value: str | None) -> bool:
    return value is None or HEADER_VALUE.fullmatch(value) is not None


# --- reading ----------------------------------------------------------------------------------------------------------------------


def parse(text: str | bytes, *, fragment: bool = False) -> Transcript:
    """Read a whole document strictly. ``fragment``: the text is frames without a document header.

    Raises:
        OpenChatMLError: of the class that belongs to the first rule that was broken.
    """
    return read_strictly(text, fragment=fragment).transcript


def parse_frame(text: str) -> Frame:
    """Read exactly one frame, as ``dump_frame`` wrote it: rules that concern a whole document, and the body, are not checked."""
    reader, assembler = Reader(fragment=True), Assembler()
    events = [*reader.feed(text), *reader.finish()]
    raw = [event for event in events if not isinstance(event, DocumentOpened | ProblemFound)]
    found = [finished for event in raw if (finished := assembler.feed(event))]
    if len(found) != 1:
        raise ParseHeaderError("exactly one frame was expected", Place(0, 1, 1))
    return found[0].frame


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as it was read: its header, its frames with what is known of each, and every problem in the order of the text."""

    document: DocumentHeader
    finished: tuple[Finished, ...]
    problems: tuple[Problem, ...]

    @property
    def transcript(self) -> Transcript:
        """The document as a value."""
        header = self.document
        return Transcript(tuple(item.frame for item in self.finished), header.version, header.model, header.settings, header.extra)


def read_strictly(source: Source, *, fragment: bool = False) -> Reading:
    """Read a whole document and keep what ``parse`` does not tell; its ``problems`` are flags. Raises as ``parse`` does."""
    return _read(FrameReader(fragment=fragment), source)


def read_leniently(source: Source, *, fragment: bool = False) -> Reading:
    """Keep what can be kept of a document, hide what could not be understood, and tell every problem.

    Raises:
        FutureVersionError: the document is of a major version that is not known yet. Nothing else is raised.
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
    """What is wrong in a document. ``problems`` are the first of ``count``; ``refused`` says how many of all a strict reading refuses."""

    document: DocumentHeader | None
    frames: int
    problems: tuple[Problem, ...]
    count: int
    refused: int

    @property
    def is_accepted(self) -> bool:
        """Whether a strict reading takes the document; it may hold flagged problems all the same."""
        return self.refused == 0

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing at all to tell of."""
        return self.count == 0


def check(source: Source, *, fragment: bool = False) -> Report:
    """Read a document leniently and report on it. Never raises for what is in it; holds one frame at a time."""
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
    """A report being written."""

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
