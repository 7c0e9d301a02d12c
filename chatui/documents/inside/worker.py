"""The worker process that reads one file. Input: the file. Output: a length, that many bytes of JSON about the file, then the texts.

It confines itself before it parses the file. It reports only the errors of ``kinds.NoTextReason``. The parent process validates everything.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from chatui import sandbox
from chatui.documents import plain_text
from chatui.documents.inside import (
    books,
    encodings,
    html,
    mail,
    notebook,
    old_sheets,
    open_sheets,
    opendocument,
    pdf,
    probes,
    rtf,
    sheets,
    slides,
    web_pages,
    word,
    xml,
)
from chatui.documents.inside.text_collector import LENGTH_BYTES, NOT_PREPARED, TextCollector, TextLimitError, UnreadableFileError
from chatui.documents.kinds import NoTextReason
from chatui.sandbox import NotConfinedError, ProcessLimits


@dataclass(frozen=True, slots=True)
class FileReader:
    """A reader for one kind of file.

    ``read`` adds the text of a file to the collector. ``prepare`` loads the modules for it, before the process is confined.
    """

    read: Callable[[bytes, TextCollector], None]
    prepare: Callable[[bytes], None] = field(default=lambda data: None)
    is_exact: bool = False


def main() -> None:
    """Read one file. The command line arguments give its kind, the limits, the person's language and the chosen encoding."""
    kind, max_bytes, cpu_seconds, memory_bytes, wall_seconds = sys.argv[1], *map(int, sys.argv[2:6])
    sandbox.limit(ProcessLimits(cpu_seconds, memory_bytes, wall_seconds))
    reader = READERS[kind]
    data = sys.stdin.buffer.read()
    collector = TextCollector(max_bytes, cpu_seconds, reader.is_exact)
    collector.language, collector.encoding = (*sys.argv[6:8], "", "")[:2]
    try:
        reader.prepare(data)
        sandbox.confine()
    except (ImportError, NotConfinedError):
        sys.exit(NOT_PREPARED)
    _write(_read(reader, data, collector), collector)


def _read(reader: FileReader, data: bytes, collector: TextCollector) -> NoTextReason:
    try:
        with contextlib.suppress(TextLimitError):
            reader.read(data, collector)
        collector.end()
    except UnreadableFileError as error:
        return error.reason
    except MemoryError:
        return NoTextReason.MEMORY
    except Exception:  # noqa: BLE001 - a broken file can cause any error
        return NoTextReason.BROKEN
    if collector.has_text:
        return NoTextReason.NONE
    return NoTextReason.HIDDEN if collector.left_out else NoTextReason.BLANK


def _write(reason: NoTextReason, collector: TextCollector) -> None:
    parts = [] if reason else collector.parts
    about = {
        "reason": str(reason),
        "places": collector.places,
        "without_text": collector.without_text,
        "is_cut": collector.is_cut,
        "left_out": collector.left_out,
        "unread": collector.unread,
        "encoding": collector.encoding,
        "is_encoding_doubtful": collector.is_encoding_doubtful,
        "parts": [[label, len(text)] for label, text in parts],
    }
    head = json.dumps(about).encode()
    sys.stdout.buffer.write(len(head).to_bytes(LENGTH_BYTES, "big") + head)
    for _, text in parts:
        sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def _plain(data: bytes, collector: TextCollector) -> None:
    plain = data if b"\0" in data else plain_text.without_noise(data)
    collector.begin()
    collector.put(encodings.read(plain, collector))
    collector.is_cut |= len(plain) > collector.max_bytes


READERS = {
    "bomb of memory": FileReader(probes.fill),
    "bomb of time": FileReader(probes.spin),
    "docx": FileReader(word.read, xml.prepare),
    "eml": FileReader(mail.read, mail.prepare),
    "epub": FileReader(books.read, books.prepare),
    "html": FileReader(html.read, html.prepare),
    "ipynb": FileReader(notebook.read, notebook.prepare),
    "odp": FileReader(opendocument.read, xml.prepare),
    "ods": FileReader(open_sheets.read, xml.prepare),
    "odt": FileReader(opendocument.read, xml.prepare),
    "pdf": FileReader(pdf.read, pdf.prepare),
    "plain": FileReader(_plain, encodings.prepare, is_exact=True),
    "pptx": FileReader(slides.read, xml.prepare),
    "probes": FileReader(probes.read),
    "rtf": FileReader(rtf.read, rtf.prepare),
    "web page": FileReader(web_pages.read, web_pages.prepare, is_exact=True),
    "xls": FileReader(old_sheets.read, old_sheets.prepare),
    "xlsx": FileReader(sheets.read, xml.prepare),
}
