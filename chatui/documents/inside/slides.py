"""Reads the text of a PPTX presentation slide by slide, without hidden slides and objects: titles, tables and notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.office import Paragraphs, main_part, of_kind, relations
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart

_ON = ("1", "true", "on")
_TITLES = ("title", "ctrTitle")
_OBJECTS = ("sp", "grpSp", "graphicFrame", "pic", "cxnSp")
_OF_LAYOUT = ("sldNum", "ftr", "dt", "hdr", "sldImg")
"""Placeholders that repeat on every slide, and the slide's picture on its notes page."""


def read(data: bytes, collector: TextCollector) -> None:
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
