"""What the formats of Office documents have in common: relationships, paragraphs and styles.

The parts of DOCX, PPTX and XLSX are found by their relationships. External targets are never loaded. DOCX and PPTX have paragraphs, table
cells, and drawings in two versions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from xml.etree.ElementTree import Element

from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive, resolve_name
from chatui.documents.kinds import NoTextReason

MAX_DEPTH = 6
"""The deepest level of a heading."""

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


UNREAD = ("Fallback", "del", "moveFrom")
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
        if name in UNREAD or name.endswith("Change"):
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
