"""Reads the text of a DOCX document, without what is deleted or hidden: its headings, lists, tables and notes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.office import MAX_DEPTH, UNREAD, Paragraphs, Styles, main_part, of_kind, relations
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart

_HEADING = re.compile(r"heading ([1-9])\Z", re.IGNORECASE)
_OFF = ("0", "false", "off", "none")
_WORD_BODY = ("document", "body")
_PUTS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def read(data: bytes, collector: TextCollector) -> None:
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
                    self.depths[key] = min(int(heading[1]), MAX_DEPTH) if heading else int(value.lower() == "title")
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
            elif not (child.tag in UNREAD or child.tag.endswith("Change") or _is_place(child)):
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
