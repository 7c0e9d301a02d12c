"""Finds the parts of an Office document by its relationships. External targets are never loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatui.documents.inside import xml
from chatui.documents.inside.archive import Archive, resolve_name
from chatui.documents.inside.text_collector import RefusedError
from chatui.documents.kinds import Reason


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
    raise RefusedError(Reason.BROKEN)
