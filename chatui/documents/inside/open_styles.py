"""The styles of an OpenDocument file: which hide text, raise or strike it out, and how lists and headings are numbered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.counting import beginning, counted
from chatui.documents.inside.marks import Look
from chatui.documents.inside.office import Styles

MAX_LEVELS = 10


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of a list."""

    is_bullet: bool
    how: str
    """The number's format; empty if none is shown."""
    before: str
    after: str
    levels: int
    """How many numbers are shown."""
    start: int


@dataclass(slots=True)
class OpenStyles(Styles):
    """The styles of an OpenDocument file, as far as they say what is shown."""

    looks: dict[str, dict[str, int]] = field(default_factory=dict)
    """What a style says of raised and struck-out text."""
    fonts: dict[str, str] = field(default_factory=dict)
    """The font of a style."""
    lists: dict[str, dict[int, _Level]] = field(default_factory=dict)
    """The levels of a list's style."""
    outline: dict[int, _Level] = field(default_factory=dict)
    """The levels of headings."""
    list_names: dict[str, str] = field(default_factory=dict)
    masters: dict[str, Element] = field(default_factory=dict)
    """The pages' styles that are in use, with their headers and footers."""
    hidden_pages: set[str] = field(default_factory=set)
    """The styles of hidden slides."""
    _used: set[str] = field(default_factory=set)

    ELEMENTS = ("style", "list-style", "outline-style", "master-page")

    def read(self, element: Element) -> None:
        """Read one of ``ELEMENTS``; others are ignored."""
        name = xml.attribute(element.attrib, "name")
        if element.tag == "style":
            self._read_style(name, element)
        elif element.tag == "list-style":
            self.lists[name] = _levels(element)
        elif element.tag == "outline-style":
            self.outline = _levels(element)
        elif element.tag == "master-page":
            if not self.masters:
                self._used.add(name)
            self.masters[name] = element

    def _read_style(self, name: str, element: Element) -> None:
        self.bases[name] = xml.attribute(element.attrib, "parent-style-name")
        self._used.add(xml.attribute(element.attrib, "master-page-name"))
        if listed := xml.attribute(element.attrib, "list-style-name"):
            self.list_names[name] = listed
        for each in element.iter():
            if each.tag == "text-properties":
                self._read_look(name, each)
            elif each.tag == "drawing-page-properties" and xml.attribute(each.attrib, "visibility") == "hidden":
                self.hidden_pages.add(name)

    def _read_look(self, name: str, element: Element) -> None:
        if display := xml.attribute(element.attrib, "display"):
            self.hiding[name] = display != "true"
        if font := xml.attribute(element.attrib, "font-name") or xml.attribute(element.attrib, "font-family"):
            self.fonts[name] = font
        look: dict[str, int] = {}
        if position := xml.attribute(element.attrib, "text-position"):
            first = position.split()[0]
            look["level"] = {"super": 1, "sub": -1}.get(first, -1 if first.startswith("-") else int(bool(first.strip("0%."))))
        for kind in ("text-line-through-style", "text-line-through-type"):
            if value := xml.attribute(element.attrib, kind):
                look["struck"] = int(value != "none")
        if look:
            self.looks[name] = look

    def look(self, name: str, outer: Look) -> Look:
        """``outer``, changed by a style and those that it is based on."""
        found: dict[str, int] = {}
        for each in self.chain(name):
            found = self.looks.get(each, {}) | found
        return Look(found.get("level", outer.level), bool(found.get("struck", outer.is_struck))) if found else outer

    def font(self, name: str) -> str:
        """The font of a style, or of one that it is based on; empty if they name none."""
        return next((self.fonts[each] for each in self.chain(name) if each in self.fonts), "")

    def used_masters(self) -> dict[str, Element]:
        """The styles of pages that are in use, as far as styles say."""
        following = {xml.attribute(each.attrib, "next-style-name") for name, each in self.masters.items() if name in self._used}
        return {name: each for name, each in self.masters.items() if name in self._used | following | {"Standard"}}


def _levels(element: Element) -> dict[int, _Level]:
    levels: dict[int, _Level] = {}
    for each in element:
        attributes = each.attrib
        number = xml.attribute(attributes, "level")
        if number.isdecimal() and len(number) < 3:
            levels[int(number)] = _Level(
                is_bullet=each.tag.endswith(("bullet", "image")),
                how=beginning(xml.attribute(attributes, "num-format")),
                before=xml.attribute(attributes, "num-prefix")[:20],
                after=xml.attribute(attributes, "num-suffix")[:20],
                levels=_small(xml.attribute(attributes, "display-levels"), 1),
                start=_small(xml.attribute(attributes, "start-value"), 1),
            )
    return levels


def _small(value: str, default: int) -> int:
    return int(value) if value.isdecimal() and len(value) < 6 else default


@dataclass(slots=True)
class Counter:
    """How far a list, or the headings, were counted."""

    counts: list[int] = field(default_factory=list)

    def next(self, levels: Mapping[int, _Level], at: int, start: str = "") -> str:
        """Count the next paragraph at a level from 1. Returns its number, a dash, or nothing if the level shows none."""
        at = min(max(at, 1), MAX_LEVELS)
        level = levels.get(at)
        while len(self.counts) < at - 1:
            upper = levels.get(len(self.counts) + 1)
            self.counts.append(upper.start if upper else 1)
        first = level.start if level else 1
        count = _small(start, first) if start or len(self.counts) < at else self.counts[at - 1] + 1
        self.counts[at - 1 :] = [count]
        if level is None or level.is_bullet:
            return "-" if level is not None or not levels else ""
        if not level.how:
            return ""
        shown = [
            counted(self.counts[number - 1], upper.how)
            for number in range(max(at - level.levels + 1, 1), at + 1)
            if (upper := levels.get(number)) is not None and upper.how
        ]
        return f"{level.before}{'.'.join(shown)}{level.after}".strip()
