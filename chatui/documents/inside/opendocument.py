"""Reads the text of an ODT document, without what is deleted or hidden: its headings, lists and tables."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.office import MAX_DEPTH, Styles
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart, NoTextReason

_MAX_SPACES = 100
_SKIPPED = ("annotation", "tracked-changes", "scripts", "font-face-decls", "automatic-styles", "binary-data")
_WHITE = {"s": " ", "tab": "\t", "line-break": "\n"}
_OPEN_BODY = ("document-content", "body", "text")
_PARAGRAPHS = ("p", "h")
_STYLED = (*_PARAGRAPHS, "span", "a")


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part."""
    archive = Archive(data)
    manifest = "META-INF/manifest.xml"
    if manifest in archive and any(each.tag == "encryption-data" for each in archive.tree(manifest).iter()):
        raise UnreadableFileError(NoTextReason.ENCRYPTED)
    styles = Styles()
    for place in ("styles.xml", "content.xml"):
        for style in archive.each(place, "style", within=_OPEN_BODY) if place in archive else ():
            if style.tag == "style" and (name := xml.attribute(style.attrib, "name")):
                styles.bases[name] = xml.attribute(style.attrib, "parent-style-name")
                for each in style.iter("text-properties"):
                    if display := xml.attribute(each.attrib, "display"):
                        styles.hiding[name] = display != "true"
    collector.begin()
    paragraphs = _OpenParagraphs(collector, styles)
    for element in archive.each("content.xml", within=_OPEN_BODY):
        paragraphs.walk(element)


@dataclass(slots=True)
class _OpenParagraphs:
    """Writes the text of a document's paragraphs. Repeated rows and cells are read once, because their repeat count may be a million."""

    collector: TextCollector
    styles: Styles
    _depth: int = 0
    _cells: int = 0
    _before: str = ""

    def walk(self, element: Element) -> None:
        """Write the text of an element."""
        name = element.tag
        if name in _SKIPPED:
            return
        if self._is_hidden(element):
            if "".join(element.itertext()).strip():
                self.collector.leave_out(HiddenPart.TEXT, "")
            return
        self._begin(element)
        self._put(element.text)
        for child in element:
            self.walk(child)
            self._put(child.tail)
        if name in _PARAGRAPHS:
            self._depth -= 1
            self._before = ""
            self.collector.put(" " if self._cells else "\n")
        elif name == "table-cell":
            self._cells -= 1
            self.collector.put("\t")
        elif name == "table-row":
            self.collector.put("\n")

    def _begin(self, element: Element) -> None:
        name = element.tag
        if name in _PARAGRAPHS:
            self._depth += 1
            if name == "h":
                self._before = f"{'#' * _number(xml.attribute(element.attrib, 'outline-level'), MAX_DEPTH)} "
        elif name in ("list-item", "table-cell"):
            self._before = "- " if name == "list-item" else ""
            self._cells += name == "table-cell"
        elif name in _WHITE and self._depth:
            self.collector.put(_WHITE[name] * _number(xml.attribute(element.attrib, "c"), _MAX_SPACES))

    def _put(self, text: str | None) -> None:
        if text and self._depth:
            self.collector.put(self._before + " ".join(text.split("\n")))
            self._before = ""

    def _is_hidden(self, element: Element) -> bool:
        """Whether a section, row, covered cell, paragraph or hidden text is not shown. What is not known to be visible is hidden."""
        name, attributes = element.tag, element.attrib
        if name == "covered-table-cell":
            return True
        if name == "table-row":
            return xml.attribute(attributes, "visibility") not in ("", "visible")
        if name == "table-row-group":
            return xml.attribute(attributes, "display") == "false"
        if name == "section":
            return xml.attribute(attributes, "display") not in ("", "true") and xml.attribute(attributes, "is-hidden") != "false"
        if name == "hidden-text":
            return xml.attribute(attributes, "is-hidden") != "false"
        # A field in a paragraph may say that all of it is hidden.
        says_so = name in _PARAGRAPHS and any(xml.attribute(e.attrib, "is-hidden") != "false" for e in element.iter("hidden-paragraph"))
        return says_so or (name in _STYLED and self.styles.hide(xml.attribute(attributes, "style-name")))


def _number(attribute: str, most: int) -> int:
    """The value of a numeric attribute, at most ``most``; 1 if it is missing or invalid."""
    return min(max(int(attribute), 1), most) if attribute.isdecimal() and len(attribute) < 9 else 1
