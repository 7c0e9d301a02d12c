"""Reads the text of Office documents: DOCX, PPTX slide by slide, and ODT, without what is deleted or hidden.

The parts of DOCX and PPTX are found by their relationships. External targets are never loaded. Both formats have paragraphs, table cells,
and drawings in two versions. Of text documents, headings, lists, tables and notes are read; of presentations, titles, tables and notes.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive, resolve_name
from chatui.documents.kinds import HiddenPart, NoTextReason

Relations = Mapping[str, tuple[str, str]]
"""The relationships of a part by id: the type of each (the last segment of its URI), and its target entry."""


def relations(archive: Archive, part: str = "") -> Relations:
    """The relationships of a part, or of the whole document."""
    folder, _, name = part.rpartition("/")
    place = f"{folder}/_rels/{name}.rels" if folder else f"_rels/{name}.rels"
    return {
        each.get("Id", ""): (each.get("Type", "").rpartition("/")[2], resolve_name(part, each.get("Target", "")))
        for each in (archive.tree(place).iter("Relationship") if place in archive else ())
        if each.get("TargetMode") != "External"
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


Place = TypeVar("Place")
"""What a format knows about an element that may be hidden, with everything in it."""


@dataclass(slots=True)
class Paragraphs(ABC, Generic[Place]):
    """Writes the text in the ``t`` elements of a tree, with its paragraphs, rows and cells."""

    collector: TextCollector
    _cells: int = 0

    def walk(self, element: Element, outer: Place) -> None:
        """Write the text of an element that is in ``outer``."""
        name = element.tag
        if name in _UNREAD or name.endswith("Change"):
            return
        place = self.enter(element, outer)
        self._cells += name == "tc"
        if name != "t":
            for child in element:
                self.walk(child, place)
        elif text := "".join(element.itertext()):
            self.put(text, place)
        if name == "tc":
            self._cells -= 1
            self.collector.put("\t")
        elif name in ("p", "tr"):
            # A table row is one line, whatever its cells contain.
            self.collector.put(" " if name == "p" and self._cells else "\n")

    @abstractmethod
    def enter(self, element: Element, outer: Place) -> Place:
        """Called before what is in an element. Returns its place, which is ``outer`` if it has none of its own."""

    @abstractmethod
    def put(self, text: str, place: Place) -> None:
        """Called for each text."""


@dataclass(slots=True)
class Styles:
    """``hiding``: whether a style hides text, by its name or id, as far as it says so itself. ``bases``: the style that it is based on."""

    hiding: dict[str, bool] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)

    def hide(self, style: str) -> bool:
        """Whether text in a style is hidden by it, or by the nearest one that it is based on and that says something."""
        seen: set[str] = set()
        while style not in self.hiding and style in self.bases and style not in seen:
            seen.add(style)
            style = self.bases[style]
        return self.hiding.get(style, False)


_HEADING = re.compile(r"heading ([1-9])\Z", re.IGNORECASE)
_MAX_DEPTH = 6
_OFF = ("0", "false", "off", "none")
_WORD_BODY = ("document", "body")
_PUTS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def read_word(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part."""
    archive = Archive(data)
    main = main_part(archive)
    related = relations(archive, main)
    styles = _WordStyles()
    if (place := of_kind(related, "styles")) in archive:
        styles.read(archive.tree(place))
    collector.begin()
    for place in (main, of_kind(related, "footnotes"), of_kind(related, "endnotes")):
        if place == main or place in archive:
            text = _Text(collector, styles=styles)
            for element in archive.each(place, within=_WORD_BODY) if place == main else [archive.tree(place)]:
                text.walk(element, _WordPlace(by_style=styles.hides_all))


@dataclass(slots=True)
class _WordStyles(Styles):
    """``depths``: the levels of heading styles, by style id. The id may be in any language; the style's name is always in English.
    ``defaults``: the style of each type of element that names none. ``hides_all``: the document hides its text by default.
    """

    depths: dict[str, int] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    hides_all: bool = False

    def read(self, tree: Element) -> None:
        """Read a document's styles."""
        for each in tree.iterfind(".//docDefaults//vanish"):
            self.hides_all = xml.attribute(each.attrib, "val").lower() not in _OFF
        for style in tree.iter("style"):
            key = xml.attribute(style.attrib, "styleId")
            if xml.is_on(xml.attribute(style.attrib, "default")):
                self.defaults[xml.attribute(style.attrib, "type")] = key
            for each in style.iter():
                value = xml.attribute(each.attrib, "val")
                if each.tag == "name":
                    heading = _HEADING.match(value)
                    self.depths[key] = min(int(heading[1]), _MAX_DEPTH) if heading else int(value.lower() == "title")
                elif each.tag == "basedOn":
                    self.bases[key] = value
                elif each.tag == "vanish":
                    # A table's style may hide some of its cells: which ones is not looked at.
                    self.hiding[key] = self.hiding.get(key, False) or value.lower() not in _OFF


_TABLES, _DRAWINGS = ("tbl", "tr", "tc"), ("anchor", "inline")
_PLACES = ("p", "r", *_TABLES, *_DRAWINGS)
_STYLES = {"tblStyle": "tbl", "pStyle": "p", "rStyle": "r"}
_KINDS = {"tbl": "table", "p": "paragraph", "r": "character"}
_HIDDEN_SHAPE = re.compile(r"visibility\s*:\s*hidden|display\s*:\s*none", re.IGNORECASE)


@dataclass(slots=True)
class _WordPlace:
    """``by_style``: its text is hidden, unless its run says that it is not. ``says``: what a run says about itself."""

    name: str = ""
    is_hidden: bool = False
    by_style: bool = False
    says: bool | None = None

    @property
    def hides(self) -> bool:
        """Of the programs that show a document, not all let a style that hides text undo another one: one of them is enough."""
        return self.is_hidden or (self.by_style if self.says is None else self.says)


@dataclass(slots=True)
class _Text(Paragraphs[_WordPlace]):
    styles: _WordStyles = field(default_factory=_WordStyles)
    _before: str = ""

    def enter(self, element: Element, outer: _WordPlace) -> _WordPlace:
        name = element.tag
        if name in _PUTS and not outer.hides:
            # The same element name also defines tab stops.
            self.collector.put("" if name == "tab" and element.attrib else _PUTS[name])
        if not _is_place(element):
            return outer
        if name == "p":
            self._before = ""
        is_hidden = name not in _PLACES or outer.is_hidden or (outer.name == "r" and outer.hides)
        default = self.styles.hide(self.styles.defaults.get(_KINDS.get(name, ""), ""))
        place = _WordPlace(name, is_hidden, outer.by_style or default)
        for child in element:
            if child.tag == "docPr":
                place.is_hidden |= xml.is_on(child.get("hidden", ""))
            elif not (child.tag in _UNREAD or child.tag.endswith("Change") or _is_place(child)):
                for each in child:
                    self._read_property(place, outer, each)
        return place

    def put(self, text: str, place: _WordPlace) -> None:
        if place.hides:
            self.collector.leave_out(HiddenPart.TEXT, "")
            return
        self.collector.put(self._before + text)
        self._before = ""

    def _read_property(self, place: _WordPlace, outer: _WordPlace, element: Element) -> None:
        name, value = element.tag, xml.attribute(element.attrib, "val")
        is_on = value.lower() not in _OFF
        if name == "docPr":
            place.is_hidden |= xml.is_on(element.get("hidden", ""))
        elif name == "numPr":
            self._before = self._before or "- "
        elif _STYLES.get(name) == place.name:
            place.by_style = outer.by_style or self.styles.hide(value)
            depth = self.styles.depths.get(value, 0) if name == "pStyle" else 0
            self._before = f"{'#' * depth} " if depth else self._before
        elif name == "vanish" and place.name == "r":
            # In a paragraph's properties, it hides only the paragraph mark.
            place.says = place.says or is_on
        elif name in _HIDES_CELLS and place.name in _TABLES and is_on and value != "restart":
            place.is_hidden = True


def _is_place(element: Element) -> bool:
    return element.tag in _PLACES or _HIDDEN_SHAPE.search(element.get("style", "")) is not None


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
    order = [xml.attribute(each.attrib, "id", "relationships") for each in archive.tree(main).iter("sldId")]
    related = relations(archive, main)
    slides = [related[each][1] for each in order if each in related]
    collector.places = len(slides)
    for number, slide in enumerate(slides, 1):
        collector.begin(f"slide {number}", is_place=True)
        tree, shapes = archive.tree(slide), _Shapes(collector)
        if tree.tag == "sld" and tree.get("show", "1").lower() not in _ON:
            collector.leave_out(HiddenPart.SLIDE, str(number))
            continue
        shapes.walk(tree, _Shape())
        if (notes := of_kind(relations(archive, slide), "notesSlide")) in archive:
            shapes.before = "Notes: "
            shapes.walk(archive.tree(notes), _Shape())
        if shapes.has_hidden:
            collector.leave_out(HiddenPart.OBJECTS, str(number))


@dataclass(slots=True)
class _Shape:
    """``is_hidden``: it is hidden, with everything in it. ``is_read``: its text is not repeated on every slide. ``before``: begins its next
    text."""

    is_hidden: bool = False
    is_read: bool = True
    before: str = ""


@dataclass(slots=True)
class _Shapes(Paragraphs[_Shape]):
    """``before``: begins the next text. ``has_hidden``: some text was left out."""

    before: str = ""
    has_hidden: bool = False

    def enter(self, element: Element, outer: _Shape) -> _Shape:
        name = element.tag
        if name == "br":
            self.collector.put("\n")
        if name == "tc":
            # What is in a cell that lies below a merged one is not shown.
            return replace(outer, is_hidden=outer.is_hidden or any(xml.is_on(element.get(each, "")) for each in ("hMerge", "vMerge")))
        if name not in _OBJECTS:
            return outer
        own = list(_within(element))
        is_hidden = outer.is_hidden or any(each.tag == "cNvPr" and xml.is_on(each.get("hidden", "")) for each in own)
        kinds = {each.get("type", "") for each in own if each.tag == "ph"}
        return _Shape(is_hidden, kinds.isdisjoint(_OF_LAYOUT), "" if kinds.isdisjoint(_TITLES) else "# ")

    def put(self, text: str, place: _Shape) -> None:
        if place.is_hidden:
            self.has_hidden |= place.is_read
        elif place.is_read:
            self.collector.put(self.before + place.before + text)
            self.before = place.before = ""


def _within(element: Element) -> Iterator[Element]:
    """What is in an object, but in none of the objects in it."""
    for child in element:
        if child.tag not in _OBJECTS:
            yield child
            yield from _within(child)


_MAX_SPACES = 100
_SKIPPED = ("annotation", "tracked-changes", "scripts", "font-face-decls", "automatic-styles", "binary-data")
_WHITE = {"s": " ", "tab": "\t", "line-break": "\n"}
_OPEN_BODY = ("document-content", "body", "text")
_PARAGRAPHS = ("p", "h")
_STYLED = (*_PARAGRAPHS, "span", "a")


def read_opendocument(data: bytes, collector: TextCollector) -> None:
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
                self._before = f"{'#' * _number(xml.attribute(element.attrib, 'outline-level'), _MAX_DEPTH)} "
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
