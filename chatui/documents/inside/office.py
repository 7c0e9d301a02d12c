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
from chatui.documents.inside.xml import Archive, Listener, resolve_name
from chatui.documents.kinds import HiddenPart, NoTextReason

Relations = Mapping[str, tuple[str, str]]
"""The relationships of a part by id: the type of each (the last segment of its URI), and its target entry."""


def relations(archive: Archive, part: str = "") -> Relations:
    """The relationships of a part, or of the whole document."""
    folder, _, name = part.rpartition("/")
    place = f"{folder}/_rels/{name}.rels" if folder else f"_rels/{name}.rels"
    return {
        attributes.get("Id", ""): (attributes.get("Type", "").rpartition("/")[2], resolve_name(part, attributes.get("Target", "")))
        for name, attributes in (archive.starts(place) if place in archive else ())
        if name == "Relationship" and attributes.get("TargetMode") != "External"
    }


def of_kind(related: Relations, kind: str) -> str:
    """The target of the first relationship of a type; empty if there is none."""
    return next((target for each, target in related.values() if each == kind), "")


def main_part(archive: Archive) -> str:
    """The main entry of the document.

    Raises:
        UnreadableFileError: there is none.
    """
    if found := of_kind(relations(archive), "officeDocument"):
        return found
    raise UnreadableFileError(NoTextReason.BROKEN)


_UNREAD = ("Fallback", "del", "moveFrom")
"""The second version of a drawing, for programs that do not support the first one; and what a tracked change deleted or moved elsewhere.
The names of properties as they were before a change end in ``Change``."""


@dataclass(slots=True)
class Paragraphs(Listener):
    """A listener for text in ``t`` elements. Subclasses handle the start of elements in ``begin``, and prefixes in ``put``."""

    collector: TextCollector
    _skipped: int = 0
    _is_text: bool = False
    _cells: int = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._skipped or name in _UNREAD or name.endswith("Change"):
            self._skipped += 1
        elif name == "tc":
            self._cells += 1
            self.begin_cell(attributes)
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

    def begin_cell(self, attributes: Mapping[str, str]) -> None:
        """Called for the start of a cell."""

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
    if (place := of_kind(related, "styles")) in archive:
        for name, attributes in archive.starts(place):
            styles.read(name, attributes)
    collector.begin()
    for place in (main, of_kind(related, "footnotes"), of_kind(related, "endnotes")):
        if place == main or place in archive:
            archive.parse(place, _Text(collector, styles=styles))


@dataclass(slots=True)
class _Styles:
    """``depths``: the levels of heading styles, by style id. The id may be in any language; the style's name is always in English.

    ``hiding``: whether a style hides text, by style id, as far as it says so itself. ``defaults``: the style of each type of element that
    names none. ``hides_all``: the document hides its text by default.
    """

    depths: dict[str, int] = field(default_factory=dict)
    hiding: dict[str, bool] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    hides_all: bool = False
    _id: str = ""

    def hide(self, style: str) -> bool:
        """Whether text in a style is hidden by it, or by one that it is based on."""
        return xml.is_inherited(style, self.hiding, self.bases)

    def read(self, name: str, attributes: Mapping[str, str]) -> None:
        """Read the start of an element. What is in no style holds for all text."""
        if name == "docDefaults":
            self._id = ""
        elif name == "style":
            self._id = xml.attribute(attributes, "styleId")
            if xml.is_on(xml.attribute(attributes, "default")):
                self.defaults[xml.attribute(attributes, "type")] = self._id
        else:
            self._read_property(name, xml.attribute(attributes, "val"))

    def _read_property(self, name: str, value: str) -> None:
        if name == "name":
            heading = _HEADING.match(value)
            self.depths[self._id] = min(int(heading[1]), _MAX_DEPTH) if heading else int(value.lower() == "title")
        elif name == "basedOn":
            self.bases[self._id] = value
        elif name == "vanish" and self._id:
            # A table's style may hide some of its cells: which ones is not looked at.
            self.hiding[self._id] = self.hiding.get(self._id, False) or value.lower() not in _OFF
        elif name == "vanish":
            self.hides_all = value.lower() not in _OFF


_TABLES, _DRAWINGS = ("tbl", "tr", "tc"), ("anchor", "inline")
_PLACES = ("p", "r", *_TABLES, *_DRAWINGS)
_STYLES = {"tblStyle": "tbl", "pStyle": "p", "rStyle": "r"}
_KINDS = {"tbl": "table", "p": "paragraph", "r": "character"}
_HIDDEN_SHAPE = re.compile(r"visibility\s*:\s*hidden|display\s*:\s*none", re.IGNORECASE)


@dataclass(slots=True)
class _Place:
    """An open element that may be hidden, with everything in it. ``depth``: how many elements are open, with this one. ``by_style``: its
    text is hidden, unless its run says that it is not. ``says``: what a run says about itself."""

    name: str
    depth: int
    is_hidden: bool = False
    by_style: bool = False
    says: bool | None = None


@dataclass(slots=True)
class _Text(Paragraphs):
    styles: _Styles = field(default_factory=_Styles)
    _before: str = ""
    _depth: int = 0
    _places: list[_Place] = field(default_factory=list)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if not self._skipped:
            self._read(name, attributes)
        Paragraphs.start(self, name, attributes)

    def end(self, name: str) -> None:
        if self._places and self._places[-1].depth == self._depth:
            self._places.pop()
        self._depth -= 1
        Paragraphs.end(self, name)

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "t":
            self._is_text = not self._is_hidden
            if self._is_hidden:
                self.collector.leave_out(HiddenPart.TEXT, "")
        elif name == "p":
            self._before = ""
        elif name in _PUTS and not self._is_hidden:
            # The same element name also defines tab stops.
            self.collector.put("" if name == "tab" and attributes else _PUTS[name])
        elif name == "numPr":
            self._before = self._before or "- "

    def put(self, text: str) -> None:
        self.collector.put(self._before + text)
        self._before = ""

    @property
    def _is_hidden(self) -> bool:
        """Of the programs that show a document, not all let a style that hides text undo another one: one of them is enough."""
        place = self._places[-1] if self._places else _Place("", 0)
        return place.is_hidden or (place.by_style if place.says is None else place.says)

    def _read(self, name: str, attributes: Mapping[str, str]) -> None:
        outer = self._places[-1] if self._places else _Place("", 0, by_style=self.styles.hides_all)
        if name in _PLACES or _HIDDEN_SHAPE.search(attributes.get("style", "")):
            is_hidden = name not in _PLACES or outer.is_hidden or (outer.name == "r" and self._is_hidden)
            by_style = outer.by_style or self.styles.hide(self.styles.defaults.get(_KINDS.get(name, ""), ""))
            self._places.append(_Place(name, self._depth, is_hidden, by_style))
        elif self._depth - outer.depth <= 2:
            self._read_property(outer, name, attributes)

    def _read_property(self, place: _Place, name: str, attributes: Mapping[str, str]) -> None:
        value = xml.attribute(attributes, "val")
        is_on = value.lower() not in _OFF
        is_own = self._depth - place.depth == 2
        if name == "docPr":
            place.is_hidden = place.is_hidden or xml.is_on(attributes.get("hidden", ""))
        elif not is_own:
            return
        elif _STYLES.get(name) == place.name:
            above = self._places[-2].by_style if len(self._places) > 1 else self.styles.hides_all
            place.by_style = above or self.styles.hide(value)
            depth = self.styles.depths.get(value, 0) if name == "pStyle" else 0
            self._before = f"{'#' * depth} " if depth else self._before
        elif name == "vanish" and place.name == "r":
            # In a paragraph's properties, it hides only the paragraph mark.
            place.says = place.says or is_on
        elif name in _HIDES_CELLS and place.name in _TABLES and is_on and value != "restart":
            place.is_hidden = True


_HIDES_CELLS = ("hidden", "del", "cellDel", "vMerge")
"""Properties of a row or a cell: it is hidden, deleted by a tracked change, or lies below a merged one."""


_ON = ("1", "true", "on")
_TITLES = ("title", "ctrTitle")
_OBJECTS = ("sp", "grpSp", "graphicFrame", "pic", "cxnSp")
_OF_LAYOUT = ("sldNum", "ftr", "dt", "hdr", "sldImg")
"""Placeholders that repeat on every slide, and the slide's picture on its notes page."""


def read_slides(data: bytes, collector: TextCollector) -> None:
    """Read each slide as one part, in the order of the presentation."""
    archive = Archive(data)
    main = main_part(archive)
    order = [xml.attribute(attributes, "id", "relationships") for name, attributes in archive.starts(main) if name == "sldId"]
    related = relations(archive, main)
    slides = [related[each][1] for each in order if each in related]
    collector.places = len(slides)
    for number, slide in enumerate(slides, 1):
        collector.begin(f"slide {number}", is_place=True)
        shapes = _Shapes(collector)
        archive.parse(slide, shapes)
        if HiddenPart.SLIDE not in shapes.left_out and (notes := of_kind(relations(archive, slide), "notesSlide")) in archive:
            of_notes = _Shapes(collector, before="Notes: ")
            archive.parse(notes, of_notes)
            shapes.left_out |= of_notes.left_out
        for kind in shapes.left_out:
            collector.leave_out(kind, str(number))


@dataclass(slots=True)
class _Shapes(Paragraphs):
    before: str = ""
    left_out: set[HiddenPart] = field(default_factory=set)
    _is_title: bool = False
    _is_of_layout: bool = False
    _is_covered: bool = False
    _objects: int = 0
    _hidden_at: int = 0

    def begin_cell(self, attributes: Mapping[str, str]) -> None:
        # What is in a cell that lies below a merged one is not shown.
        self._is_covered = any(xml.is_on(attributes.get(name, "")) for name in ("hMerge", "vMerge"))

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
            self._is_covered = False
            self._hidden_at = 0 if self._hidden_at == self._objects else self._hidden_at
            self._objects -= 1

    def put(self, text: str) -> None:
        if HiddenPart.SLIDE in self.left_out:
            return
        if self._hidden_at or self._is_covered:
            self.left_out.add(HiddenPart.OBJECTS)
            return
        self.collector.put(f"{self.before}{'# ' if self._is_title else ''}{text}")
        self.before, self._is_title = "", False
