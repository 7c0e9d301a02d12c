"""Reads an uploaded transcript, and stops as soon as it exceeds a limit.

Text and JSON are read leniently: as much as possible is kept, and hidden when in doubt. Uploaded files are kept in memory, up to the size
limit of an import, and never written to disk.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from typing import NoReturn

from django.core.files.uploadedfile import InMemoryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.utils.translation import gettext as _

from chatui.codes import ProductCode
from chatui.env import environment
from renderer.errors import ErrorCode, OpenChatMLError, Problem
from renderer.events import Finished
from renderer.ocml import interchange
from renderer.ocml.document import FrameReader
from renderer.ocml.document_header import DocumentHeader
from renderer.ocml.scanning import DocumentOpened, ProblemFound
from renderer.strict_json import has_more_marks

MAX_BYTES = 5 * 1024 * 1024
MAX_EXPORT_BYTES = 32 * 1024 * 1024
"""The largest export of another product, or zip with one."""
MAX_FRAMES = 5_000
MAX_PROBLEMS = 10_000
"""The most problems. They need no frames: a file of end markers alone has one every seven bytes."""
MAX_REPORTED = 20
"""The most problems that a person is told of one by one."""
MAX_JSON_MARKS = 250_000
"""The most strings, commas and opening brackets in total. A message with all keys has about forty, and a header of 64 KB has more."""

PIECE_BYTES = 16 * 1024
"""How much of a file is read at a time."""


class ImportRefusedError(Exception):
    """Nothing was imported. ``problem`` has the violated rule and its position; it never quotes the file."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(slots=True)
class ParsedUpload:
    """The parsed upload: the header, the frames, and the problems that were ignored."""

    header: DocumentHeader = field(default_factory=DocumentHeader)
    finished: list[Finished] = field(default_factory=list)
    codes: Counter[ErrorCode] = field(default_factory=Counter)
    """How often each problem was found."""
    refused: Problem | None = None
    """The first problem that strict reading would refuse."""
    reported: list[Problem] = field(default_factory=list)
    """The first ``MAX_REPORTED`` problems."""

    @property
    def problems(self) -> int:
        return self.codes.total()


def read(data: bytes) -> ParsedUpload:
    """Read an upload. Raises ImportRefusedError if it is too large in any respect, or not a transcript."""
    if len(data) > MAX_BYTES:
        refuse(ProductCode.TOO_LARGE, _("the file is larger than %(count)d MB") % {"count": MAX_BYTES // (1024 * 1024)})
    try:
        upload = _read_json(data) if _is_json(data) else _read_text(data)
    except OpenChatMLError as error:
        raise ImportRefusedError(error.problem) from None
    if upload.refused is not None and not upload.finished:
        raise ImportRefusedError(upload.refused)
    return upload


def refuse(code: ErrorCode, hint: str) -> NoReturn:
    """Raise ImportRefusedError with a hint of our own."""
    raise ImportRefusedError(Problem(code, hint))


def what_it_is(data: bytes) -> str:
    """A sentence about a file that is not a readable transcript: what it seems to be, and what can be imported instead. It quotes nothing
    of the file."""
    if data.startswith(b"%PDF") or b"\0" in data[:PIECE_BYTES]:
        return _("This is a document or a picture, not a conversation. To ask about it, attach it to a message.")
    if _LINE_OF_A_FRAME.search(data):
        return _("This is a transcript, but it cannot be read here.")
    if _PAGE_BEGINS.match(data):
        return _("This is a web page. Exports also have their conversations in a JSON file: choose that, or the whole zip.")
    if _MARKDOWN_BEGINS.match(data):
        return _(
            "This is Markdown, such as “Download as Markdown” makes for reading. “Download transcript” and “Download as JSON”, in the menu "
            "of the same conversation, make files that can be imported."
        )
    if _GEMINI.search(data[:PIECE_BYTES]):
        return gemini()
    if _SHAREGPT.search(data[:PIECE_BYTES]):
        return _("This is a data set in the form of ShareGPT, which cannot be imported: it has no dates and no names of models.")
    if _JSON_BEGINS.match(data):
        return _("This is JSON, but not a whole conversation in any of the forms that can be imported.")
    return _("This is neither a transcript nor an export of a product that is known here.")


def gemini() -> str:
    """The sentence for an export of Gemini, whether it is in a zip of Google's or not."""
    return _(
        "This is an export of Gemini: it lists single questions, and does not say which of them belong together. It cannot be imported."
    )


def _read_text(data: bytes) -> ParsedUpload:
    upload, reader = ParsedUpload(), FrameReader(lenient=True)
    for begin in range(0, len(data), PIECE_BYTES):
        _take(upload, reader.feed(data[begin : begin + PIECE_BYTES]))
    _take(upload, reader.finish())
    return upload


def _take(upload: ParsedUpload, events: Iterable[DocumentOpened | ProblemFound | Finished]) -> None:
    for event in events:
        match event:
            case DocumentOpened(document=document):
                upload.header = document
            case ProblemFound(problem=problem):
                upload.codes[problem.code] += 1
                upload.refused = upload.refused or (problem if problem.is_refused else None)
                if len(upload.reported) < MAX_REPORTED:
                    upload.reported.append(problem)
            case Finished():
                upload.finished.append(event)
    if len(upload.finished) > MAX_FRAMES:
        refuse(ProductCode.TOO_LARGE, _("the transcript has more than %(count)d frames") % {"count": MAX_FRAMES})
    if upload.problems > MAX_PROBLEMS:
        refuse(ProductCode.TOO_LARGE, _("the transcript has more than %(count)d problems") % {"count": MAX_PROBLEMS})


def _is_json(data: bytes) -> bool:
    # The header of OpenChatML text may also begin with a brace: {version: 2.2}. But JSON never has a line that begins with a frame.
    return _JSON_BEGINS.match(data) is not None and _LINE_OF_A_FRAME.search(data) is None


def _read_json(data: bytes) -> ParsedUpload:
    # Parsed JSON takes up to forty times as much memory: marks are counted before parsing.
    if has_more_marks(data, MAX_JSON_MARKS):
        refuse(ProductCode.TOO_LARGE, _("the transcript has too many values"))
    upload, reading = ParsedUpload(), interchange.read_leniently(data)
    _take(upload, [DocumentOpened(reading.document), *map(ProblemFound, reading.problems), *reading.finished])
    return upload


_JSON_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+[{\[]")
_GEMINI = re.compile(rb'"(?:header"\s*:|products"\s*:\s*\[)\s*"[^"]{0,40}Gemini')
_SHAREGPT = re.compile(rb'"conversations"\s*:\s*\[\s*\{\s*"(?:from|value)"\s*:')
_MARKDOWN_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*+#{1,6} ")
_PAGE_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<(?:!doctype html|html)\b", re.IGNORECASE)
_LINE_OF_A_FRAME = re.compile(rb"^<\|start\|>", re.MULTILINE)


def max_form_bytes() -> int:
    """The most bytes that all files of a form may have together."""
    return max(MAX_EXPORT_BYTES, environment().file_mb * 1024 * 1024)


class BoundedUploadHandler(FileUploadHandler):
    """Keeps one byte more than is allowed, for all files of a request together, and drops the rest. By the extra byte, the reader of the
    file sees that it is too large. Django parses uploads before any view runs, even those of anonymous visitors, who cannot import
    anything: for them the limit is lower.
    """

    _room: int | None = None

    def new_file(self, *args: object, **kwargs: object) -> None:
        super().new_file(*args, **kwargs)  # type: ignore[arg-type]
        if self._room is None:
            user = getattr(self.request, "user", None)
            self._room = 1 + (max_form_bytes() if user is not None and user.is_authenticated else MAX_BYTES)
        self._file = BytesIO()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Keep as much as fits."""
        room = self._room or 0
        self._file.write(raw_data[:room])
        self._room = room - min(len(raw_data), room)

    def file_complete(self, file_size: int) -> InMemoryUploadedFile:
        size = self._file.tell()
        self._file.seek(0)
        return InMemoryUploadedFile(
            file=self._file,
            field_name=self.field_name,
            name=self.file_name or "",
            content_type=self.content_type or "",
            size=size,
            charset=self.charset,
            content_type_extra=self.content_type_extra,
        )
