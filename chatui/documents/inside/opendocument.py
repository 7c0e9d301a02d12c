"""Reads an ODT document: paragraphs, headings, lists and tables, without hidden and deleted text and comments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chatui.documents.inside import xml
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart, NoTextReason

_MAX_SPACES = 100
_MAX_DEPTH = 6
_SKIPPED = ("annotation", "tracked-changes", "scripts", "font-face-decls", "automatic-styles", "binary-data")
_PARAGRAPHS = ("p", "h")


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part."""
    archive = Archive(data)
    if "META-INF/manifest.xml" in archive:
        xml.parse(archive.blocks("META-INF/manifest.xml"), _Manifest())
    collector.begin()
    xml.parse(archive.blocks("content.xml"), _Paragraphs(collector))


class _Manifest:
    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "encryption-data":
            raise UnreadableFileError(NoTextReason.ENCRYPTED)

    def end(self, name: str) -> None:
        """Ignored."""

    def data(self, text: str) -> None:
        """Ignored."""


@dataclass(slots=True)
class _Paragraphs:
    """A listener for a document's content. Repeated rows and cells are read once, because their repeat count may be a million."""

    collector: TextCollector
    _skipped: int = 0
    _depth: int = 0
    _before: str = ""
    _cells: int = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._skipped or name in _SKIPPED:
            self._skipped += 1
        elif _is_hidden(name, attributes):
            self._skipped += 1
            self.collector.leave_out(HiddenPart.TEXT, "")
        elif name in _PARAGRAPHS:
            self._depth += 1
            if name == "h":
                self._before = f"{'#' * _number(xml.attribute(attributes, 'outline-level'), _MAX_DEPTH)} "
        elif name in ("list-item", "table-cell"):
            self._before = "- " if name == "list-item" else ""
            self._cells += name == "table-cell"
        elif name == "s" and self._depth:
            self.collector.put(" " * _number(xml.attribute(attributes, "c"), _MAX_SPACES))
        elif name in ("tab", "line-break") and self._depth:
            self.collector.put("\t" if name == "tab" else "\n")

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name in _PARAGRAPHS:
            self._depth -= 1
            self._before = ""
            self.collector.put(" " if self._cells else "\n")
        elif name == "table-cell":
            self._cells -= 1
            self.collector.put("\t")
        elif name == "table-row":
            self.collector.put("\n")

    def data(self, text: str) -> None:
        if self._depth > 0 and not self._skipped:
            self.collector.put(self._before + " ".join(text.split("\n")))
            self._before = ""


def _is_hidden(name: str, attributes: Mapping[str, str]) -> bool:
    """Whether a section, a row or a hidden text is not shown. What is not known to be visible is hidden."""
    if name == "table-row":
        return xml.attribute(attributes, "visibility") not in ("", "visible")
    if name == "table-row-group":
        return xml.attribute(attributes, "display") == "false"
    if name == "section":
        return xml.attribute(attributes, "display") not in ("", "true") and xml.attribute(attributes, "is-hidden") != "false"
    return name == "hidden-text" and xml.attribute(attributes, "is-hidden") != "false"


def _number(attribute: str, most: int) -> int:
    """The value of a numeric attribute, at most ``most``; 1 if it is missing or invalid."""
    return min(max(int(attribute), 1), most) if attribute.isdecimal() and len(attribute) < 9 else 1
