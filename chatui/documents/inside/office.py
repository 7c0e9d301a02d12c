"""What the formats of Office documents have in common: relationships, paragraphs and styles.

The parts of DOCX, PPTX and XLSX are found by their relationships. External targets are never loaded. DOCX and PPTX have paragraphs, table
cells, and drawings in two versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatui.documents.inside.text_collector import UnreadableFileError
from chatui.documents.inside.xml import Archive, resolve_name
from chatui.documents.kinds import NoTextReason

MAX_DEPTH = 6
"""The deepest level of a heading."""

Relations = Mapping[str, tuple[str, str]]
"""The relationships of a part by id: the type of each (the last segment of its URI), and its target entry."""


def relations(archive: Archive, part: str = "") -> Relations:
    """The relationships of a part, or of the whole document."""
    place = _relations_of(part)
    return {
        each.get("Id", ""): (each.get("Type", "").rpartition("/")[2], resolve_name(part, each.get("Target", "")))
        for each in (archive.tree(place).iter("Relationship") if place in archive else ())
        if each.get("TargetMode") != "External"
    }


def addresses(archive: Archive, part: str) -> dict[str, str]:
    """The addresses outside the document to which a part has links, by id."""
    place = _relations_of(part)
    return {
        each.get("Id", ""): each.get("Target", "")
        for each in (archive.tree(place).iter("Relationship") if place in archive else ())
        if each.get("TargetMode") == "External" and each.get("Type", "").endswith("/hyperlink")
    }


def _relations_of(part: str) -> str:
    folder, _, name = part.rpartition("/")
    return f"{folder}/_rels/{name}.rels" if folder else f"_rels/{name}.rels"


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


@dataclass(slots=True)
class Styles:
    """The styles of a document, by name or id."""

    hiding: dict[str, bool] = field(default_factory=dict)
    """Whether a style hides text, as far as it says so itself."""
    bases: dict[str, str] = field(default_factory=dict)
    """The style that each is based on."""

    def hide(self, style: str) -> bool:
        """Whether text in a style is hidden by it, or by the nearest one that it is based on and that says something."""
        return next((self.hiding[each] for each in self.chain(style) if each in self.hiding), False)

    def chain(self, style: str) -> list[str]:
        """A style, and those that it is based on."""
        found: dict[str, None] = {}
        while style and style not in found:
            found[style] = None
            style = self.bases.get(style, "")
        return list(found)
