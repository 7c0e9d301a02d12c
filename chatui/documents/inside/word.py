"""Reads a DOCX document: paragraphs, headings, tables and notes, without deleted and hidden text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from chatui.documents.inside import xml
from chatui.documents.inside.archive import Archive
from chatui.documents.inside.packages import main_part, relations
from chatui.documents.inside.paragraphs import Paragraphs
from chatui.documents.inside.text_collector import TextCollector

_HEADING = re.compile(r"heading ([1-9])\Z", re.IGNORECASE)
_MAX_DEPTH = 6
_OFF = ("0", "false", "off", "none")
_PUTS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def read_word(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part."""
    archive = Archive(data)
    main = main_part(archive)
    related = relations(archive, main)
    styles = _Styles()
    if (place := related.of_kind("styles")) in archive:
        xml.parse(archive.blocks(place), styles)
    collector.begin()
    for place in (main, related.of_kind("footnotes"), related.of_kind("endnotes")):
        if place == main or place in archive:
            xml.parse(archive.blocks(place), _Text(collector, depths=styles.depths))


@dataclass(slots=True)
class _Styles:
    """``depths``: the levels of heading styles, by style id. The id may be in any language; the style's name is always in English."""

    depths: dict[str, int] = field(default_factory=dict)
    _id: str = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "style":
            self._id = xml.attribute(attributes, "styleId")
        elif name == "name":
            title = xml.attribute(attributes, "val")
            if heading := _HEADING.match(title):
                self.depths[self._id] = min(int(heading[1]), _MAX_DEPTH)
            elif title.lower() == "title":
                self.depths[self._id] = 1

    def end(self, name: str) -> None:
        """Ignored."""

    def data(self, text: str) -> None:
        """Ignored."""


@dataclass(slots=True)
class _Text(Paragraphs):
    depths: Mapping[str, int] = field(default_factory=dict)
    _is_hidden: bool = False
    _before: str = ""

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "t":
            self._is_text = not self._is_hidden
        elif name == "p":
            self._is_hidden, self._before = False, ""
        elif name in _PUTS and not self._is_hidden:
            # The same element name also defines tab stops.
            self.collector.put("" if name == "tab" and attributes else _PUTS[name])
        else:
            self._property(name, attributes)

    def finish(self, name: str) -> None:
        if name in ("pPr", "r"):
            # In a paragraph's properties, "vanish" hides only the paragraph mark.
            self._is_hidden = False

    def put(self, text: str) -> None:
        self.collector.put(self._before + text)
        self._before = ""

    def _property(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "r":
            self._is_hidden = False
        elif name == "vanish":
            self._is_hidden = xml.attribute(attributes, "val").lower() not in _OFF
        elif name == "pStyle":
            depth = self.depths.get(xml.attribute(attributes, "val"), 0)
            self._before = f"{'#' * depth} " if depth else self._before
        elif name == "numPr":
            self._before = self._before or "- "
