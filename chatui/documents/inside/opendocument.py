"""Reads an ODT document: paragraphs, headings, lists and tables, without hidden and deleted text and comments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatui.documents.inside import xml
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive, Listener
from chatui.documents.kinds import HiddenPart, NoTextReason

_MAX_SPACES = 100
_MAX_DEPTH = 6
_SKIPPED = ("annotation", "tracked-changes", "scripts", "font-face-decls", "automatic-styles", "binary-data")
_WHITE = {"s": " ", "tab": "\t", "line-break": "\n"}
_PARAGRAPHS = ("p", "h")
_STYLED = (*_PARAGRAPHS, "span", "a")


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part."""
    archive = Archive(data)
    manifest = "META-INF/manifest.xml"
    if manifest in archive and any(name == "encryption-data" for name, _ in archive.starts(manifest)):
        raise UnreadableFileError(NoTextReason.ENCRYPTED)
    styles = _Styles()
    for place in ("styles.xml", "content.xml"):
        if place in archive:
            for name, attributes in archive.starts(place):
                styles.read(name, attributes)
    collector.begin()
    archive.parse("content.xml", _Paragraphs(collector, styles))


@dataclass(slots=True)
class _Styles:
    """``hiding``: whether a style hides text, by name, as far as it says so itself."""

    hiding: dict[str, bool] = field(default_factory=dict)
    _parents: dict[str, str] = field(default_factory=dict)
    _name: str = ""

    def hide(self, style: str) -> bool:
        """Whether text in a style is hidden by it, or by one that it continues."""
        return xml.is_inherited(style, self.hiding, self._parents)

    def read(self, name: str, attributes: Mapping[str, str]) -> None:
        """Read the start of an element. Text properties are those of the style before them, if that has a name."""
        if name == "style":
            self._name = xml.attribute(attributes, "name")
            self._parents[self._name] = xml.attribute(attributes, "parent-style-name")
        elif "style" in name:
            self._name = ""
        elif name == "text-properties" and self._name and (display := xml.attribute(attributes, "display")):
            self.hiding[self._name] = display != "true"


@dataclass(slots=True)
class _Paragraphs(Listener):
    """A listener for a document's content. Repeated rows and cells are read once, because their repeat count may be a million."""

    collector: TextCollector
    styles: _Styles
    _skipped: int = 0
    _is_hidden: bool = False
    _line: list[str] = field(default_factory=list)
    """The text of the outermost open paragraph, in which a field may still say that it is hidden."""
    _chars: int = 0
    _is_hidden_line: bool = False
    _depth: int = 0
    _before: str = ""
    _cells: int = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._skipped or name in _SKIPPED:
            self._skipped += 1
        elif _is_hidden(name, attributes) or (name in _STYLED and self.styles.hide(xml.attribute(attributes, "style-name"))):
            self._skipped, self._is_hidden = 1, True
        elif name == "hidden-paragraph":
            self._is_hidden_line |= xml.attribute(attributes, "is-hidden") != "false"
        elif name in _PARAGRAPHS:
            self._depth += 1
            if name == "h":
                self._before = f"{'#' * _number(xml.attribute(attributes, 'outline-level'), _MAX_DEPTH)} "
        elif name in ("list-item", "table-cell"):
            self._before = "- " if name == "list-item" else ""
            self._cells += name == "table-cell"
        elif name in _WHITE and self._depth:
            self._put(_WHITE[name] * _number(xml.attribute(attributes, "c"), _MAX_SPACES))

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
            self._is_hidden = self._is_hidden and self._skipped > 0
        elif name in _PARAGRAPHS:
            self._depth -= 1
            self._before = ""
            self._put(" " if self._cells else "\n")
            if not self._depth:
                self._end_line()
        elif name == "table-cell":
            self._cells -= 1
            self.collector.put("\t")
        elif name == "table-row":
            self.collector.put("\n")

    def data(self, text: str) -> None:
        if self._is_hidden and text.strip():
            self.collector.leave_out(HiddenPart.TEXT, "")
        elif self._depth > 0 and not self._skipped:
            self._put(self._before + " ".join(text.split("\n")))
            self._before = ""

    def _put(self, text: str) -> None:
        self._line.append(text)
        self._chars += len(text)
        if self._chars > self.collector.max_bytes:
            self._end_line()

    def _end_line(self) -> None:
        text = "".join(self._line)
        if self._is_hidden_line and text.strip():
            self.collector.leave_out(HiddenPart.TEXT, "")
        elif not self._is_hidden_line:
            self.collector.put(text)
        self._line, self._chars, self._is_hidden_line = [], 0, False


def _is_hidden(name: str, attributes: Mapping[str, str]) -> bool:
    """Whether a section, a row, a cell below a merged one or a hidden text is not shown. What is not known to be visible is hidden."""
    if name == "covered-table-cell":
        return True
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
