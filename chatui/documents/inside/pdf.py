"""Reads a PDF, page by page. Text in images is not read."""

from __future__ import annotations

import codecs
import contextlib
import importlib
import io
import logging
import warnings
from typing import Any

from chatui.documents.inside.text_collector import FullError, TextCollector, UnreadableFileError
from chatui.documents.kinds import NoTextReason

MAX_PAGES = 2000
_ENCODINGS = (
    "ascii latin_1 cp1252 mac_roman utf_8 utf_16 utf_16_be utf_16_le charmap gbk gb18030 big5 big5hkscs cp949 euc_kr shift_jis cp932 euc_jp"
)
_MODULES = ("pypdf", "pypdf.filters", "pypdf._codecs._codecs", "pypdf._codecs.core_font_metrics")
"""Includes the modules that pypdf would import later. They are imported here so that other kinds of files do not wait for them."""


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
        raise UnreadableFileError(NoTextReason.LIMIT) from None
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, NotImplementedError):
        raise UnreadableFileError(NoTextReason.BROKEN) from None
    broken = 0
    for number in range(min(collector.places, MAX_PAGES)):
        collector.begin(f"page {number + 1}", is_place=True)
        text = _text(reader, number)
        broken += text is None
        collector.put(text or "")
    collector.end()
    if not collector.has_text:
        raise UnreadableFileError(NoTextReason.BROKEN if broken or not collector.places else NoTextReason.SCANNED)
    if collector.places > MAX_PAGES:
        collector.is_cut = True
        raise FullError


def _text(reader: Any, number: int) -> str | None:
    """The text of a page; None if that page is broken."""
    with contextlib.suppress(Exception):
        return str(reader.pages[number].extract_text())
    return None
