"""The numbers of the paragraphs of a DOCX document: ``2.1``, ``(a)``, ``IV.``, or a dash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.counting import counted

MAX_LEVELS = 9
_MAX_NUMBER = 100_000
_BULLET = "-"


@dataclass(slots=True)
class _Level:
    how: str = "decimal"
    text: str = ""
    start: int = 1
    is_legal: bool = False


@dataclass(slots=True)
class Numbering:
    """The lists of a document, and how far each was counted."""

    _levels: dict[str, dict[int, _Level]] = field(default_factory=dict)
    _of_lists: dict[str, str] = field(default_factory=dict)
    """The definition of each list."""
    _starts: dict[tuple[str, int], int] = field(default_factory=dict)
    """Where a list begins anew, by list and level."""
    _own: dict[tuple[str, int], _Level] = field(default_factory=dict)
    _counts: dict[str, list[int]] = field(default_factory=dict)
    _of_styles: dict[tuple[str, str], int] = field(default_factory=dict)
    _links: dict[str, str] = field(default_factory=dict)
    """The style that a definition is in."""

    def read(self, tree: Element) -> None:
        """Read the definitions, then the lists that use them."""
        named: dict[str, str] = {}
        for each in tree.iter("abstractNum"):
            self._read_definition(xml.attribute(each.attrib, "abstractNumId"), each, named)
        for each in tree.iter("num"):
            self._read_list(xml.attribute(each.attrib, "numId"), each, named)

    def _read_definition(self, key: str, element: Element, named: dict[str, str]) -> None:
        self._levels[key] = {}
        for each in element.iter():
            value = xml.attribute(each.attrib, "val")
            if each.tag == "lvl":
                self._levels[key][_level(each)] = _read_level(each)
                for style in each.iter("pStyle"):
                    self._of_styles[key, xml.attribute(style.attrib, "val")] = _level(each)
            elif each.tag == "styleLink":
                named[value] = key
            elif each.tag == "numStyleLink":
                self._links[key] = value

    def _read_list(self, key: str, element: Element, named: Mapping[str, str]) -> None:
        for child in element:
            if child.tag == "abstractNumId":
                definition = xml.attribute(child.attrib, "val")
                self._of_lists[key] = named.get(self._links.get(definition, ""), definition)
            elif child.tag == "lvlOverride":
                at = _level(child)
                for start in child.iter("startOverride"):
                    self._starts[key, at] = _number(xml.attribute(start.attrib, "val"))
                for level in child.iter("lvl"):
                    self._own[key, at] = _read_level(level)

    def level_of_style(self, name: str, style: str) -> int:
        """The level at which a style counts in a list."""
        return self._of_styles.get((self._of_lists.get(name, ""), style), 0)

    def next(self, name: str, at: int) -> str:
        """Count the next paragraph of a list at a level from 0. Returns its number or a dash; empty if it shows none."""
        at = min(max(at, 0), MAX_LEVELS - 1)
        definition = self._of_lists.get(name)
        levels = self._levels.get(definition, {}) if definition is not None else {}
        level = self._own.get((name, at)) or levels.get(at)
        if definition is None or level is None:
            return _BULLET
        counts = self._counts.setdefault(definition, [])
        start = self._starts.pop((name, at), None)
        while len(counts) < at:
            upper = levels.get(len(counts))
            counts.append(upper.start if upper else 1)
        count = counts[at] + 1 if len(counts) > at else level.start
        counts[at:] = [count if start is None else start]
        return _BULLET if level.how == "bullet" else self._written(name, level, levels, counts)

    def _written(self, name: str, level: _Level, levels: Mapping[int, _Level], counts: list[int]) -> str:
        text = level.text
        for number, count in enumerate(counts):
            upper = self._own.get((name, number)) or levels.get(number)
            how = "decimal" if level.is_legal or upper is None else upper.how
            text = text.replace(f"%{number + 1}", counted(count, how) if how not in ("none", "bullet") else "")
        return " ".join(text.split())


def _level(element: Element) -> int:
    return min(_number(xml.attribute(element.attrib, "ilvl")), MAX_LEVELS - 1)


def _read_level(element: Element) -> _Level:
    level = _Level()
    for each in element:
        value = xml.attribute(each.attrib, "val")
        if each.tag == "numFmt":
            level.how = value
        elif each.tag == "lvlText":
            level.text = value[:100]
        elif each.tag == "start":
            level.start = _number(value)
        elif each.tag == "isLgl":
            level.is_legal = value.lower() not in ("0", "false", "off")
    return level


def _number(value: str) -> int:
    return min(int(value), _MAX_NUMBER) if value.isdecimal() and len(value) < 9 else 0
