"""Detects a file's type by its name and its first bytes, which must agree. Nothing is unpacked for this."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from chatui.documents.plain_text import wide_encoding

PDF = "application/pdf"
HEAD_BYTES = 8192
"""How many bytes of a file are checked."""


class NoTextReason(StrEnum):
    NONE = ""
    SCANNED = "scanned"  # only pages without text, such as scans
    BLANK = "blank"  # an empty file
    HIDDEN = "hidden"  # all of its text is hidden in the file
    PICTURE = "picture"
    TYPE = "type"  # an unsupported type, or a name that does not match the content
    AS_DOCX = "as-docx"  # a type that is not read; the program that made it can save it in one that is
    AS_PPTX = "as-pptx"
    AS_XLSX = "as-xlsx"
    AS_EML = "as-eml"
    AS_PDF = "as-pdf"
    ENCRYPTED = "encrypted"
    BROKEN = "broken"
    TOO_LONG = "too-long"  # larger than the limit for files
    UNPACKED = "unpacked"  # one of the limits of what it holds: see ``limits``
    PACKED = "packed"
    ENTRIES = "entries"
    ELEMENTS = "elements"
    LEVELS = "levels"
    GROUPS = "groups"
    STRINGS = "strings"
    OBJECTS = "objects"
    LATE = "late"  # reading takes more processor time than allowed
    SLOW = "slow"  # reading takes more time than allowed, as on a machine that is busy
    MEMORY = "memory"  # reading takes more memory than allowed
    UNAVAILABLE = "unavailable"  # this machine cannot read files at present


class HiddenPart(StrEnum):
    """What is left out of a file's text, because people who open the file do not see it. It is named by its sheet or slide."""

    SHEET = "sheet"
    CELLS = "cells"  # rows and columns
    SLIDE = "slide"
    OBJECTS = "objects"  # on a slide
    TEXT = "text"  # of a text document, which has no names for it


class UnreadThing(StrEnum):
    """What a file has that is neither in its text nor marked there. It is counted: one line says how many there are of each kind."""

    PICTURE = "picture"
    CHART = "chart"
    DIAGRAM = "diagram"
    SHAPE = "shape"
    EQUATION = "equation"
    COMMENT = "comment"
    NOTE = "note"
    HEADER = "header"
    TEXT_BOX = "text-box"
    LINK = "link"
    FIELD = "field"  # of a form
    FILE = "file"  # in the file
    MEDIA = "media"  # sounds and films
    PIVOT = "pivot"  # tables that are computed from others
    SCRIPT = "script"
    CHANGE = "change"  # tracked, deleted or moved
    LAYER = "layer"  # switched off
    PART = "part"  # of a mail or an archive
    CHARACTER = "character"  # without a meaning in the file's encoding or font
    OTHER = "other"  # unknown, but with text or a value, or pointing to something


@dataclass(frozen=True, slots=True)
class DetectedKind:
    """The detected type of a file."""

    kind: str
    """How the file is read; empty if unknown."""
    reason: NoTextReason = NoTextReason.NONE
    """Why it is not read."""


TEXTS = {
    "csv": "csv",
    "eml": "eml",
    "htm": "html",
    "html": "html",
    "ipynb": "ipynb",
    "json": "json",
    "markdown": "markdown",
    "md": "markdown",
    "rtf": "rtf",
    "tsv": "tsv",
    "xhtml": "html",
    "xml": "xml",
}
"""Kinds of text by the file name's extension. Any other text is ``text``: source code has a hundred extensions, all harmless."""

NAMED = {
    "pdf": ("pdf",),
    "text": ("docx", "odt", "rtf"),
    "slides": ("pptx", "odp"),
    "workbook": ("xlsx", "xlsm", "xls", "ods"),
    "mail": ("eml",),
    "book": ("epub",),
    "notebook": ("ipynb",),
}
"""The usual extensions of the files that are read and are not text themselves, by what people call them."""

PLAIN = frozenset({*TEXTS.values(), "text"} - {"eml", "html", "ipynb", "rtf"})
"""Kinds whose text is the file itself."""

UNPACKED = {
    **dict.fromkeys(("docm", "docx", "dotm", "dotx"), "docx"),
    "epub": "epub",
    **dict.fromkeys(("odp", "otp"), "odp"),
    **dict.fromkeys(("ods", "ots"), "ods"),
    **dict.fromkeys(("odt", "ott"), "odt"),
    **dict.fromkeys(("potm", "potx", "ppsm", "ppsx", "pptm", "pptx"), "pptx"),
    **dict.fromkeys(("xlsm", "xlsx", "xltm", "xltx"), "xlsx"),
}
"""Kinds that are zip archives, by the file name's extension."""
OLD = {"xls": "xls", "xlt": "xls"}
"""Kinds in the container of Office 97, by the file name's extension."""
OF_ZIP = {"xls": "xlsx", "xlt": "xlsx"}
"""What a zip archive with such an extension is, as programs find when they open it."""

_BETTER = {
    **dict.fromkeys(("doc", "dot", "pages", "wpd", "wps"), NoTextReason.AS_DOCX),
    **dict.fromkeys(("key", "pot", "pps", "ppt"), NoTextReason.AS_PPTX),
    **dict.fromkeys(("numbers", "xlsb"), NoTextReason.AS_XLSX),
    **dict.fromkeys(("msg", "oft"), NoTextReason.AS_EML),
    **dict.fromkeys(("djvu", "mpp", "one", "pub", "vsd", "vsdx", "xps"), NoTextReason.AS_PDF),
}
"""Types that are not read, by the file name's extension, and what would be. Text with such a name is read as text."""

PICTURES = frozenset(
    ["avif", "bmp", "gif", "heic", "heif", "ico", "jfif", "jpe", "jpeg", "jpg", "jxl", "png", "psd", "tif", "tiff", "webp"]
)

_PICTURE_SIGNS = (
    re.compile(rb"\x89PNG\r\n\x1a\n"),
    re.compile(rb"\xff\xd8\xff"),
    re.compile(rb"GIF8[79]a"),
    re.compile(rb"BM.{4}\0{4}", re.DOTALL),
    re.compile(rb"II\*\0|MM\0\*"),
    re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
    re.compile(rb"\0\0\x01\0[^\0]"),
    re.compile(rb".{4}ftyp(?:avif|avis|heic|heix|heif|mif1|msf1)", re.DOTALL),
    re.compile(rb"8BPS\0"),
    re.compile(rb"\xff\x0a|\0\0\0\x0cJXL "),
)
_PAGE = re.compile(rb"\A[^<]{0,20}<(?:!doctype\s+html|html|head|meta|style|table)\b", re.IGNORECASE)
_ZIP = re.compile(rb"PK(?:\x03\x04|\x05\x06)")
_OFFICE_97 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks: what follows is text, whatever its bytes are. The UTF-32 mark begins like that of UTF-16."""
_NEVER_IN_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_FEW = 10
"""One in this many bytes may be a control character, as in logs."""
_PDF_BYTES = 1024
"""How many other bytes a PDF may begin with, as in PDF readers."""


def _written_as(head: bytes, ending: str) -> str:
    """What a text really is. Web pages are offered as documents and workbooks, by the names of those; other programs show them."""
    if head.startswith(b"{\\rtf"):
        return "rtf"
    plain = head.replace(b"\0", b"")
    if (ending in OLD or ending in _BETTER) and _PAGE.search(plain):
        return "html"
    return "xml" if ending in OLD and plain.lstrip(b"\xef\xbb\xbf\xff\xfe \r\n\t").startswith(b"<?xml") else ""


def detect(name: str, data: bytes) -> DetectedKind:
    """The detected type of a file, or the reason why it is not read."""
    # The extension of the name in the logical order of its characters, not in the displayed one.
    stem, _, ending = re.split(r"[/\\]", name)[-1].rstrip(". ").lower().rpartition(".")
    ending = ending if stem else ""
    head = data[:HEAD_BYTES]
    is_marked = head.startswith(_MARKS)
    if ending in PICTURES or (not is_marked and any(sign.match(head) for sign in _PICTURE_SIGNS)):
        return DetectedKind("picture", NoTextReason.PICTURE)
    kind = "pdf" if ending == "pdf" else UNPACKED.get(ending) or OLD.get(ending) or TEXTS.get(ending, "text")
    if not data:
        return DetectedKind(kind, NoTextReason.BLANK)
    if head.startswith(_OFFICE_97) and ending in UNPACKED:
        return DetectedKind(kind, NoTextReason.ENCRYPTED)
    is_pdf = head.lstrip(b" \t\r\n").startswith(b"%PDF-") or (kind == "pdf" and b"%PDF-" in head[:_PDF_BYTES])
    is_zip = _ZIP.match(head) is not None
    if ending in OLD and is_zip:
        kind, is_kind = OF_ZIP[ending], True
    elif ending in OLD and head.startswith(_OFFICE_97):
        is_kind = True
    elif kind == "pdf" or ending in UNPACKED:
        is_kind = is_pdf if kind == "pdf" else is_zip and not is_pdf
    else:
        kind = "text" if ending in OLD else kind
        # Old programs end a text with NUL or Ctrl-Z.
        text = head.rstrip(b"\0\x1a")
        head = text if re.search(rb"\s|.{16}", text) else head
        few_controls = b"\0" not in head and len(_NEVER_IN_TEXT.findall(head)) * _FEW <= len(head) > 0
        is_marked = is_marked or bool(wide_encoding(head))
        is_kind = not (is_pdf or is_zip or head.startswith(_OFFICE_97)) and (is_marked or few_controls)
    if is_kind and kind == "text" and (found := _written_as(head, ending)):
        return DetectedKind(found)
    return DetectedKind(kind) if is_kind else DetectedKind("" if kind == "text" else kind, _BETTER.get(ending, NoTextReason.TYPE))
