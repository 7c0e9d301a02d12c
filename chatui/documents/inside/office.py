"""Reads the text of Office documents: DOCX, without deleted and hidden text, and PPTX, slide by slide, without what is hidden.

The parts of a document are found by its relationships. External targets are never loaded. Both formats have paragraphs, table cells, and
drawings in two versions. Of word processor documents, headings, tables and notes are read as well; of presentations, titles, tables and
notes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from chatui.documents.inside import xml
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive, resolve_name
from chatui.documents.kinds import HiddenPart, NoTextReason


@dataclass(slots=True)
class Relations:
    """A listener for the relationships of a part. ``by_id``: the type of each (the last segment of its URI), and its target entry."""

    part: str
    by_id: dict[str, tuple[str, str]] = field(default_factory=dict)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Read a relationship."""
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            kind = attributes.get("Type", "").rpartition("/")[2]
            self.by_id[attributes.get("Id", "")] = kind, resolve_name(self.part, attributes.get("Target", ""))

    def end(self, name: str) -> None:
        """Ignored."""

    def data(self, text: str) -> None:
        """Ignored."""

    def of_kind(self, kind: str) -> str:
        """The target of the first relationship of a type; empty if there is none."""
        return next((target for each, target in self.by_id.values() if each == kind), "")


def relations(archive: Archive, part: str = "") -> Relations:
    """The relationships of a part, or of the whole document."""
    folder, _, name = part.rpartition("/")
    place = f"{folder}/_rels/{name}.rels" if folder else f"_rels/{name}.rels"
    found = Relations(part)
    if place in archive:
        xml.parse(archive.blocks(place), found)
    return found


def main_part(archive: Archive) -> str:
    """The main entry of the document.

    Raises:
        RefusedError: there is none.
    """
    if found := relations(archive).of_kind("officeDocument"):
        return found
    raise UnreadableFileError(NoTextReason.BROKEN)


@dataclass(slots=True)
class Paragraphs:
    """A listener for text in ``t`` elements. Subclasses handle the start of elements in ``begin``, and prefixes in ``put``."""

    collector: TextCollector
    _skipped: int = 0
    _is_text: bool = False
    _cells: int = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        # The second version of a drawing is for programs that do not support the first one.
        if self._skipped or name == "Fallback":
            self._skipped += 1
        elif name == "tc":
            self._cells += 1
        else:
            self.begin(name, attributes)

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name == "t":
            self._is_text = False
        elif name in ("p", "tr"):
            # A table row is one line, whatever its cells contain.
            self.collector.put(" " if name == "p" and self._cells else "\n")
        elif name == "tc":
            self._cells -= 1
            self.collector.put("\t")
        else:
            self.finish(name)

    def data(self, text: str) -> None:
        if self._is_text and not self._skipped:
            self.put(text)

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Called for the start of an element that is not a cell. Sets ``_is_text`` if it contains text."""

    def finish(self, name: str) -> None:
        """Called for the end of any other element."""

    def put(self, text: str) -> None:
        """Called for each piece of text."""
        self.collector.put(text)


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
            if self._is_hidden:
                self.collector.leave_out(HiddenPart.TEXT, "")
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


_ON = ("1", "true", "on")
_TITLES = ("title", "ctrTitle")
_OBJECTS = ("sp", "grpSp", "graphicFrame", "pic", "cxnSp")
_OF_LAYOUT = ("sldNum", "ftr", "dt", "hdr", "sldImg")
"""Placeholders that repeat on every slide, and the slide's picture on its notes page."""


def read_slides(data: bytes, collector: TextCollector) -> None:
    """Read each slide as one part, in the order of the presentation."""
    archive = Archive(data)
    main = main_part(archive)
    order = _Order()
    xml.parse(archive.blocks(main), order)
    related = relations(archive, main)
    slides = [related.by_id[each][1] for each in order.ids if each in related.by_id]
    collector.places = len(slides)
    for number, slide in enumerate(slides, 1):
        collector.begin(f"slide {number}", is_place=True)
        shapes = _Shapes(collector)
        xml.parse(archive.blocks(slide), shapes)
        for kind in shapes.left_out:
            collector.leave_out(kind, str(number))
        if HiddenPart.SLIDE not in shapes.left_out and (notes := relations(archive, slide).of_kind("notesSlide")) in archive:
            xml.parse(archive.blocks(notes), _Shapes(collector, before="Notes: "))


@dataclass(slots=True)
class _Order:
    ids: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sldId":
            self.ids.append(xml.attribute(attributes, "id", "relationships"))

    def end(self, name: str) -> None:
        """Ignored."""

    def data(self, text: str) -> None:
        """Ignored."""


@dataclass(slots=True)
class _Shapes(Paragraphs):
    before: str = ""
    left_out: set[HiddenPart] = field(default_factory=set)
    _is_title: bool = False
    _is_of_layout: bool = False
    _objects: int = 0
    _hidden_at: int = 0

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._objects += name in _OBJECTS
        if name == "sp":
            self._is_title = self._is_of_layout = False
        elif name == "sld" and attributes.get("show", "1").lower() not in _ON:
            self.left_out.add(HiddenPart.SLIDE)
        elif name == "cNvPr" and xml.is_on(attributes.get("hidden", "")):
            # It is hidden with everything in it.
            self._hidden_at = self._hidden_at or self._objects
        elif name == "ph":
            kind = attributes.get("type", "")
            self._is_title, self._is_of_layout = kind in _TITLES, kind in _OF_LAYOUT
        elif name == "t":
            self._is_text = not self._is_of_layout
        elif name == "br":
            self.collector.put("\n")

    def finish(self, name: str) -> None:
        if name in _OBJECTS:
            self._hidden_at = 0 if self._hidden_at == self._objects else self._hidden_at
            self._objects -= 1

    def put(self, text: str) -> None:
        if HiddenPart.SLIDE in self.left_out:
            return
        if self._hidden_at:
            self.left_out.add(HiddenPart.OBJECTS)
            return
        self.collector.put(f"{self.before}{'# ' if self._is_title else ''}{text}")
        self.before, self._is_title = "", False
