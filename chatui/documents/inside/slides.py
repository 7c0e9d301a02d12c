"""Reads a PPTX presentation, slide by slide, with titles, tables and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatui.documents.inside import xml
from chatui.documents.inside.archive import Archive
from chatui.documents.inside.packages import main_part, relations
from chatui.documents.inside.paragraphs import Paragraphs
from chatui.documents.inside.text_collector import TextCollector

_TITLES = ("title", "ctrTitle")
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
        xml.parse(archive.blocks(slide), _Shapes(collector))
        if (notes := relations(archive, slide).of_kind("notesSlide")) in archive:
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
    _is_title: bool = False
    _is_of_layout: bool = False

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sp":
            self._is_title = self._is_of_layout = False
        elif name == "ph":
            kind = attributes.get("type", "")
            self._is_title, self._is_of_layout = kind in _TITLES, kind in _OF_LAYOUT
        elif name == "t":
            self._is_text = not self._is_of_layout
        elif name == "br":
            self.collector.put("\n")

    def put(self, text: str) -> None:
        self.collector.put(f"{self.before}{'# ' if self._is_title else ''}{text}")
        self.before, self._is_title = "", False
