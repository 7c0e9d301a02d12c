"""The styles of a DOCX document: which hide text, are headings or lists, or raise, lower and strike out text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.marks import Look
from chatui.documents.inside.office import MAX_DEPTH, Styles

OFF = ("0", "false", "off", "none")
_HEADING = re.compile(r"heading ([1-9])\Z", re.IGNORECASE)


@dataclass(slots=True)
class WordStyles(Styles):
    """The styles of a Word document, as far as they say what is shown."""

    depths: dict[str, int] = field(default_factory=dict)
    """The levels of heading styles, by style id. The id may be in any language; the style's name is always in English."""
    defaults: dict[str, str] = field(default_factory=dict)
    """The style of each type of element that names none."""
    hides_all: bool = False
    """Whether the document hides its text by default."""
    looks: dict[str, dict[str, int]] = field(default_factory=dict)
    """What a style says of raised and struck-out text."""
    lists: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    """The list and level of a style."""

    def read(self, tree: Element) -> None:
        """Read a document's styles."""
        for each in tree.iterfind(".//docDefaults//vanish"):
            self.hides_all = xml.attribute(each.attrib, "val").lower() not in OFF
        for style in tree.iter("style"):
            key = xml.attribute(style.attrib, "styleId")
            if xml.is_on(xml.attribute(style.attrib, "default")):
                self.defaults[xml.attribute(style.attrib, "type")] = key
            for each in style.iter():
                self._read_property(key, each, xml.attribute(each.attrib, "val"))

    def _read_property(self, key: str, element: Element, value: str) -> None:
        name = element.tag
        if name == "name" and (heading := _HEADING.match(value)):
            self.depths[key] = min(int(heading[1]), MAX_DEPTH)
        elif name == "name" and value.lower() == "title":
            self.depths[key] = 1
        elif name == "outlineLvl":
            self.depths.setdefault(key, outline_depth(value))
        elif name == "basedOn":
            self.bases[key] = value
        elif name == "numPr":
            self.lists[key] = list_of(element)
        elif name == "vanish":
            # A table's style may hide some of its cells: which ones is not looked at.
            self.hiding[key] = self.hiding.get(key, False) or value.lower() not in OFF
        elif (found := look_of(element)) is not None:
            self.looks.setdefault(key, {}).update([found])

    def depth(self, chain: list[str]) -> int:
        """The level of a heading by its style; 0 for other paragraphs."""
        return next((self.depths[each] for each in chain if each in self.depths), 0)

    def list_of(self, chain: list[str]) -> tuple[str, int | None]:
        """The list and level that a style is counted in; empty if it is not."""
        return next((self.lists[each] for each in chain if each in self.lists), ("", None))

    def look(self, style: str, look: Look) -> Look:
        """``look``, changed by a style and those that it is based on."""
        found: dict[str, int] = {}
        for each in self.chain(style):
            found = self.looks.get(each, {}) | found
        return changed(look, found)


def outline_depth(value: str) -> int:
    """The level of a heading with an outline level, which begins at 0 and is 9 for ordinary text."""
    return int(value) + 1 if value.isdecimal() and int(value[:2]) < MAX_DEPTH else 0


def list_of(element: Element) -> tuple[str, int | None]:
    """The list and the level that a ``numPr`` names; no level if it leaves that out."""
    values = {child.tag: xml.attribute(child.attrib, "val") for child in element}
    level = values.get("ilvl", "")
    return values.get("numId", ""), int(level) if level.isdecimal() and len(level) < 3 else None


def look_of(element: Element) -> tuple[str, int] | None:
    """What a property of a run says about its look."""
    value = xml.attribute(element.attrib, "val").lower()
    if element.tag in ("strike", "dstrike"):
        return element.tag, int(value not in OFF)
    if element.tag == "vertAlign":
        return "level", {"superscript": 1, "subscript": -1}.get(value, 0)
    if element.tag == "position" and value.removeprefix("-").isdecimal():
        # Half points. Small shifts align a line.
        return "position", 0 if len(value) > 6 or abs(int(value)) < 2 else 1 if int(value) > 0 else -1
    return None


def changed(look: Look, found: dict[str, int]) -> Look:
    if not found:
        return look
    struck = [found[each] for each in ("strike", "dstrike") if each in found]
    level = found.get("level") or found.get("position", look.level if "level" not in found else 0)
    return Look(level, any(struck) if struck else look.is_struck)
