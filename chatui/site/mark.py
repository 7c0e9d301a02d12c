"""The operator's mark (logo): a small SVG or PNG file. Files that could run scripts or load others are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

MAX_BYTES = 64 * 1024


class MarkError(Exception):
    """The file cannot be used. The message is a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the brand: its name in URLs, media type and bytes."""

    name: str
    content_type: str
    data: bytes = field(repr=False)

    @property
    def sizes(self) -> str:
        """Width and height in pixels, in a web manifest's format: 512x512; ``any`` for a vector image."""
        if not self.data.startswith(_PNG):
            return "any"
        width, height = (int.from_bytes(self.data[at : at + 4], "big") for at in (16, 20))
        return f"{width}x{height}"


@lru_cache(maxsize=8)
def read(path: Path) -> File:
    """The mark, read once per process. Raises MarkError if it cannot be read, is too large, or is not an allowed picture."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        raise MarkError("CHATUI_MARK does not name a file that can be read.") from None
    if len(data) > MAX_BYTES:
        raise MarkError(f"CHATUI_MARK names a file of more than {MAX_BYTES // 1024} KB.")
    if data.startswith(_PNG):
        return File("mark.png", "image/png", data)
    if _SVG.match(data) is None:
        raise MarkError("CHATUI_MARK names a file that is neither SVG nor PNG.")
    if _ACTIVE.search(data):
        raise MarkError("CHATUI_MARK names an SVG with a script, an event handler, foreign content, an entity or an external URL.")
    return File("mark.svg", "image/svg+xml", data)


_PNG = b"\x89PNG\r\n\x1a\n"
# A comment, the XML declaration and a document type may precede the picture.
_SVG = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?[^>]{0,500}>\s*|<!--.{0,2000}?-->\s*|<!DOCTYPE[^>\[]{0,500}>\s*)*<svg[\s>]", re.DOTALL)
# An img element would not run or load any of this, but the file can also be opened by its URL, so it is refused.
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignObject|iframe|image|handler)\b|\son\w+\s*=|<!ENTITY|javascript:|href\s*=\s*[\"']\s*(?!#)|url\(\s*[\"']?\s*(?!#)",
    re.IGNORECASE,
)
