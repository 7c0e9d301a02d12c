"""Detects a file's type by its name and its first bytes, from fixed tables. Both must agree, and nothing is unpacked to find out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

HEAD_BYTES = 8192
"""How much of a file is looked at."""


class Reason(StrEnum):
    """The reasons why a file has no text."""

    NONE = ""
    SCANNED = "scanned"  # pages without text: pictures of them
    BLANK = "blank"  # nothing in it
    PICTURE = "picture"
    TYPE = "type"  # a type that is not read, or a name that says something else than the content
    ENCRYPTED = "encrypted"
    BROKEN = "broken"
    TOO_LONG = "too-long"  # more bytes than a file may have
    LIMIT = "limit"  # it takes more time, memory or room than reading may take
    UNAVAILABLE = "unavailable"  # nothing can be read on this machine now


class Content(StrEnum):
    """The content types that the first bytes can show."""

    TEXT = "text"
    PDF = "pdf"
    ZIP = "zip"
    OFFICE_97 = "office 97"  # also what an encrypted file of a newer Office is wrapped in
    PICTURE = "picture"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class DetectedKind:
    """The detected type of a file. ``kind``: how the file is read; empty if unknown. ``reason``: why it is not read."""

    kind: str
    reason: Reason = Reason.NONE


TEXTS = {
    "csv": "csv",
    "htm": "html",
    "html": "html",
    "json": "json",
    "markdown": "markdown",
    "md": "markdown",
    "tsv": "tsv",
    "xhtml": "html",
    "xml": "xml",
}
"""Kinds of text by the ending of the name. Any other text is ``text``: source code has a hundred endings, and none that means harm."""

PLAIN = frozenset({*TEXTS.values(), "text"} - {"html"})
"""Kinds whose text is the file as it stands."""

UNPACKED = {"docx": "docx", "odt": "odt", "pptx": "pptx", "xlsx": "xlsx"}
"""Kinds that are zip archives, by the ending of the name."""

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
_ZIP = re.compile(rb"PK(?:\x03\x04|\x05\x06)")
_OFFICE_97 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks: what follows is text, whatever its bytes are. Four bytes for each character begin like two for each."""
_NEVER_IN_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_FEW = 100
"""Of so many bytes one may be a control character: logs have them."""
_PDF_BYTES = 1024
"""A PDF may begin with so much of something else, as its readers have it."""


def known(name: str, data: bytes) -> DetectedKind:
    """What a file is read as, or why it is not."""
    ending = ending_of(name)
    if ending in PICTURES:
        return DetectedKind("picture", Reason.PICTURE)
    kind = "pdf" if ending == "pdf" else UNPACKED.get(ending) or TEXTS.get(ending, "text")
    if not data:
        return DetectedKind(kind, Reason.BLANK)
    found = content(data, kind)
    if found is Content.PICTURE:
        return DetectedKind("picture", Reason.PICTURE)
    if found is Content.OFFICE_97 and ending in UNPACKED:
        return DetectedKind(kind, Reason.ENCRYPTED)
    expected = {"pdf": Content.PDF, **dict.fromkeys(UNPACKED.values(), Content.ZIP)}.get(kind, Content.TEXT)
    return DetectedKind(kind) if found is expected else DetectedKind("" if kind == "text" else kind, Reason.TYPE)


def content(data: bytes, kind: str = "") -> Content:
    """What the first bytes look like. ``kind``: what the name says; a PDF may begin with something else."""
    head = data[:HEAD_BYTES]
    if any(sign.match(head) for sign in _PICTURE_SIGNS) and not head.startswith(_MARKS):
        return Content.PICTURE
    if head.lstrip(b" \t\r\n").startswith(b"%PDF-") or (kind == "pdf" and b"%PDF-" in head[:_PDF_BYTES]):
        return Content.PDF
    if _ZIP.match(head):
        return Content.ZIP
    if head.startswith(_OFFICE_97):
        return Content.OFFICE_97
    return Content.TEXT if _is_text(head) else Content.OTHER


def ending_of(name: str) -> str:
    """The ending of a name in lower case, as systems read it: by the order of its characters, not by how they are shown."""
    last = re.split(r"[/\\]", name)[-1].rstrip(". ")
    stem, dot, ending = last.rpartition(".")
    return ending.lower() if dot and stem else ""


def _is_text(head: bytes) -> bool:
    if head.startswith(_MARKS):
        return True
    return b"\0" not in head and len(_NEVER_IN_TEXT.findall(head)) * _FEW <= len(head)
