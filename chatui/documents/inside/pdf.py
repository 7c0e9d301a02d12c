"""Reads a PDF, page by page, as people see it: lines, columns, tables, links, comments and filled forms. Text in images is not read."""

from __future__ import annotations

import codecs
import contextlib
import importlib
import io
import itertools
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from chatui.documents.inside import pdf_layout, pdf_notes, pdf_page
from chatui.documents.inside.marks import mark
from chatui.documents.inside.pdf_page import Box, plain
from chatui.documents.inside.text_collector import TextCollector, TextLimitError, UnreadableFileError
from chatui.documents.kinds import NoTextReason, UnreadThing
from chatui.documents.limits import MAX_PAGES

MAX_FILES = 100
"""The most files in a document that are named."""
_ENCODINGS = (
    "ascii latin_1 cp1252 mac_roman utf_8 utf_16 utf_16_be utf_16_le utf_32_be charmap gbk gb18030 "
    "big5 big5hkscs cp949 euc_kr shift_jis cp932 euc_jp"
)
_MODULES = (
    *("pypdf", "pypdf.filters", "pypdf.generic._font", "pypdf._codecs._codecs", "pypdf._codecs.core_font_metrics"),
    *("pypdf._text_extraction._text_extractor",),
)
"""Includes the modules that pypdf would import later. They are imported here so that other kinds of files do not wait for them."""
_LETTER: Box = (0, 0, 612, 792)


def prepare(data: bytes) -> None:
    """Load everything that reading may need, because a confined process cannot."""
    for name in _ENCODINGS.split():
        codecs.lookup(name)
    warnings.simplefilter("ignore")
    logging.disable()
    for name in _MODULES:
        importlib.import_module(name)
    if b"/Encrypt" in data:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        encryptor = Cipher(algorithms.AES(bytes(16)), modes.CBC(bytes(16))).encryptor()
        encryptor.update(bytes(16))


def read(data: bytes, collector: TextCollector) -> None:
    """Read each page as one part."""
    from pypdf import PdfReader
    from pypdf.errors import LimitReachedError, PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableFileError(NoTextReason.ENCRYPTED)
        collector.places = len(reader.pages)
    except LimitReachedError:
        raise UnreadableFileError(NoTextReason.OBJECTS) from None
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, NotImplementedError):
        raise UnreadableFileError(NoTextReason.BROKEN) from None
    document = _Document(reader, collector)
    broken = 0
    for number in range(min(collector.places, MAX_PAGES)):
        collector.begin(f"page {number + 1}", is_place=True)
        text = document.text(number)
        broken += text is None
        collector.put(text or "")
        if number == 0:
            collector.put("".join(f"\n{each}" for each in document.files()))
    collector.end()
    if not collector.has_text:
        raise UnreadableFileError(NoTextReason.BROKEN if broken or not collector.places else NoTextReason.SCANNED)
    if collector.places > MAX_PAGES:
        collector.is_cut = True
        raise TextLimitError


@dataclass(slots=True)
class _Document:
    """What the pages of a document have in common. ``off``: its layers that are off, by their places in the file."""

    reader: Any
    collector: TextCollector
    fonts: pdf_page.Fonts = field(default_factory=pdf_page.Fonts)
    off: set[tuple[int, int]] = field(default_factory=set)
    pictures: set[Any] = field(default_factory=set)
    layers: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        with contextlib.suppress(Exception):
            self._read_layers(plain(self.reader.trailer["/Root"]))

    def _read_layers(self, root: Any) -> None:
        layers = plain(root.get("/OCProperties"))
        if layers is None:
            return
        settings = plain(layers.get("/D"))
        if settings.get("/BaseState") == "/OFF":
            self.off |= {(each.idnum, each.generation) for each in plain(layers.get("/OCGs"))}
        self.off |= {(each.idnum, each.generation) for each in plain(settings.get("/OFF")) or ()}
        if settings.get("/BaseState") == "/OFF":
            self.off -= {(each.idnum, each.generation) for each in plain(settings.get("/ON")) or ()}

    def text(self, number: int) -> str | None:
        """The text of a page; None if that page is broken."""
        with contextlib.suppress(Exception):
            page = self.reader.pages[number]
            box = _page_box(page)
            walker = pdf_page.Walker(self.reader, self.collector, self.fonts, self.off, self.pictures, self.layers, box)
            if (content := page.get_contents()) is not None:
                walker.walk(content, _resources(page))
            pieces = pdf_page.visible(walker.drawn, box, self.collector)
            notes = pdf_notes.Notes(pieces, self.collector, walker.is_off)
            notes.read(page)
            return "\n".join(filter(None, [pdf_layout.text_of(pieces), *notes.marks]))
        return None

    def files(self) -> Iterator[str]:
        """A mark for each file in the document, and for forms that only some programs show."""
        with contextlib.suppress(Exception):
            names = [each.name for each in itertools.islice(self.reader.attachment_list, MAX_FILES + 1)]
            yield from (mark("Attached file", name) for name in names[:MAX_FILES])
            self.collector.count(UnreadThing.FILE, len(names) - MAX_FILES)
        with contextlib.suppress(Exception):
            form = plain(plain(self.reader.trailer["/Root"]).get("/AcroForm"))
            if form is not None and "/XFA" in form and not plain(form.get("/Fields")):
                self.collector.count(UnreadThing.FIELD)


def _resources(page: Any) -> Any:
    """The resources of a page, which it may have from the group of pages that it is in."""
    for _ in range(64):
        if page is None or "/Resources" in page:
            break
        page = plain(page.get("/Parent"))
    return {} if page is None else plain(page["/Resources"])


def _page_box(page: Any) -> Box:
    """What is shown of a page."""
    with contextlib.suppress(Exception):
        a, b, c, d = (float(each) for each in page.cropbox)
        return min(a, c), min(b, d), max(a, c), max(b, d)
    return _LETTER
