"""Reads a PPTX presentation slide by slide, as people see it: titles, lists, tables, links, charts, notes, comments, footers.

Hidden slides and objects are left out, and named. ``KNOWN`` lists the elements of the format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import Element

from chatui.documents.inside import drawings, formulas, xml
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.counting import counted
from chatui.documents.inside.marks import PLAIN, Look, Runs, mark, spread
from chatui.documents.inside.office import Relations, addresses, main_part, of_kind, relations
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart, UnreadThing

_READ = """
sld sldLayout sldMaster notes cSld spTree sp grpSp graphicFrame pic cxnSp nvSpPr nvGrpSpPr nvGraphicFramePr nvPicPr nvCxnSpPr cNvPr nvPr ph
txBody txSp p r t br fld tbl tr tc graphic graphicData chart relIds blipFill blip AlternateContent Choice oMath oMathPara m
"""
_PLAIN = """
clrMapOvr clrMap transition timing extLst bg bgPr bgRef spPr grpSpPr style bodyPr lstStyle pPr rPr endParaRPr tblPr tblGrid tcPr xfrm hf
cNvSpPr cNvGrpSpPr cNvGraphicFramePr cNvPicPr cNvCxnSpPr custDataLst stretch srcRect tile sldLayoutIdLst txStyles controls Fallback
useSpRect custShowLst
"""
KNOWN = KnownThings(
    read=frozenset(_READ.split()),
    plain=frozenset(_PLAIN.split()),
    counted={
        "oleObj": UnreadThing.FILE,
        "control": UnreadThing.FIELD,
        "contentPart": UnreadThing.SHAPE,
        **dict.fromkeys(("videoFile", "audioFile", "audioCd", "wavAudioFile", "quickTimeFile", "media"), UnreadThing.MEDIA),
    },
)
"""The elements of slides, their notes, layouts and masters."""

_ON = ("1", "true", "on")
_TITLES = ("title", "ctrTitle")
_OBJECTS = ("sp", "grpSp", "graphicFrame", "pic", "cxnSp")
_MARGINS = {"ftr": "Footer", "hdr": "Header", "dt": "Date"}
_NUMBERS = ("sldNum", "sldImg")
"""Placeholders for the slide's number, which is the label of its text, and for its picture on its notes page."""
_MAX_SPAN = 100
_MAX_LEVEL = 8


def read(data: bytes, collector: TextCollector) -> None:
    """Read each slide as one part, in the order of the presentation."""
    archive = Archive(data)
    main = main_part(archive)
    order = [xml.attribute(each.attrib, "id", "relationships") for each in archive.tree(main).iter("sldId")]
    related = relations(archive, main)
    slides = [related[each][1] for each in order if each in related]
    presentation = _Presentation(archive, _authors(archive, related))
    collector.places = len(slides)
    for number, slide in enumerate(slides, 1):
        collector.begin(f"slide {number}", is_place=True)
        tree = archive.tree(slide)
        if tree.tag == "sld" and tree.get("show", "1").lower() not in _ON:
            collector.leave_out(HiddenPart.SLIDE, str(number))
            continue
        has_hidden = presentation.put_slide(collector, slide, tree)
        if has_hidden:
            collector.leave_out(HiddenPart.OBJECTS, str(number))


def _authors(archive: Archive, related: Relations) -> dict[str, str]:
    """The names of those who wrote comments, by id."""
    found: dict[str, str] = {}
    for kind in ("commentAuthors", "authors"):
        if (place := of_kind(related, kind)) in archive:
            found |= {each.get("id", ""): each.get("name", "") for each in archive.tree(place)}
    return found


@dataclass(slots=True)
class _Presentation:
    """``written``: what was written once, because it is on every slide."""

    archive: Archive
    authors: Mapping[str, str]
    written: set[str] = field(default_factory=set)

    def put_slide(self, collector: TextCollector, slide: str, tree: Element) -> bool:
        """Write a slide. Returns whether it has hidden objects."""
        related = relations(self.archive, slide)
        shapes = self._shapes(collector, slide, related)
        shapes.walk(tree, _Shape())
        self._put_layout(collector, related, tree)
        if (notes := of_kind(related, "notesSlide")) in self.archive:
            inner = self._shapes(collector, notes, relations(self.archive, notes))
            inner.before = "Notes: "
            inner.walk(self.archive.tree(notes), _Shape())
            shapes.has_hidden |= inner.has_hidden
        for kind, place in related.values():
            if kind == "comments" and place in self.archive:
                self._put_comments(collector, self.archive.tree(place))
        return shapes.has_hidden

    def _shapes(self, collector: TextCollector, part: str, related: Relations) -> _Shapes:
        return _Shapes(collector, self.archive, related, addresses(self.archive, part), self.written)

    def _put_layout(self, collector: TextCollector, related: Relations, tree: Element) -> None:
        """Write the words of the slide's layout and master that are no placeholders, the first time that they are shown."""
        part = tree
        for kind in ("slideLayout", "slideMaster"):
            place = of_kind(related, kind)
            if part.get("showMasterSp", "1").lower() not in _ON or place not in self.archive or place in self.written:
                return
            self.written.add(place)
            part, related = self.archive.tree(place), relations(self.archive, place)
            shapes = self._shapes(collector, place, related)
            shapes.runs.hold()
            shapes.walk(part, _Shape(is_layout=True))
            if text := " ".join(shapes.runs.release().split()):
                collector.put(f"{mark('On the slides', text)}\n")

    def _put_comments(self, collector: TextCollector, tree: Element) -> None:
        for each in tree.iter():
            if each.tag in ("cm", "reply"):
                # Replies are in the comment that they belong to.
                pieces = (t.text or "" for child in each if child.tag in ("txBody", "text") for t in child.iter() if t.tag in ("t", "text"))
                author = self.authors.get(each.get("authorId", ""), "")
                collector.put(f"{mark(f'Comment by {author}' if author else 'Comment', ' '.join(pieces))}\n")


@dataclass(slots=True)
class _Shape:
    """What is known of the shape that is being read."""

    is_hidden: bool = False
    """Whether it is hidden, with everything in it."""
    is_layout: bool = False
    """Whether it is of a layout, whose placeholders show nothing themselves."""
    is_read: bool = True
    """Whether its text is shown, and is not the slide's number."""
    margin: str = ""
    """The kind of a placeholder that repeats."""
    before: str = ""
    """What begins its next text."""
    alt: str = ""
    """The description of a picture."""
    look: Look = PLAIN


@dataclass(slots=True)
class _Shapes:
    """Writes the text of a tree."""

    collector: TextCollector
    archive: Archive
    relations: Relations
    addresses: Mapping[str, str]
    written: set[str]
    before: str = ""
    """What begins the next text."""
    has_hidden: bool = False
    """Whether some text was left out."""
    runs: Runs = field(init=False)
    _rows: list[list[str]] = field(default_factory=list)
    _cells: int = 0
    _bullet: str = ""
    _counts: dict[int, tuple[int, str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.runs = Runs(self.collector)

    def walk(self, element: Element, outer: _Shape) -> None:
        """Write the text of an element that is in ``outer``."""
        name = element.tag
        if not KNOWN.look_into(element, self.collector):
            return
        if (leaf := _LEAVES.get(name)) is not None:
            leaf(self, element, outer)
            return
        place = self._entered(element, outer)
        self._begin(element, place)
        for child in element:
            self.walk(child, place)
        self._end(element, place)

    def _entered(self, element: Element, outer: _Shape) -> _Shape:
        name = element.tag
        if name in _OBJECTS:
            return self._object(element, outer)
        if name in ("r", "fld"):
            return replace(outer, look=_look(element))
        if name == "tc":
            # What is in a cell that lies below a merged one is not shown.
            is_below = any(xml.is_on(element.get(each, "")) for each in ("hMerge", "vMerge"))
            return replace(outer, is_hidden=outer.is_hidden or is_below)
        return outer

    def _begin(self, element: Element, place: _Shape) -> None:
        name = element.tag
        if name in ("r", "fld"):
            self.runs.begin_link(self._address(element.find("rPr/hlinkClick")))
        elif name == "txBody":
            self._counts.clear()
        elif name == "p":
            self._begin_paragraph(element)
        elif name == "tr":
            self._rows.append([])
        elif name == "tc":
            self._cells += 1
        if name == "tc" or (name in _OBJECTS and place.margin):
            self.runs.hold()

    def _object(self, element: Element, outer: _Shape) -> _Shape:
        own = list(_within(element))
        about = next((each for each in own if each.tag == "cNvPr"), None)
        is_hidden = outer.is_hidden or (about is not None and xml.is_on(about.get("hidden", "")))
        kinds = {each.get("type", "") for each in own if each.tag == "ph"}
        is_placeholder = any(each.tag == "ph" for each in own)
        is_read = outer.is_read and kinds.isdisjoint(_NUMBERS) and not (is_placeholder and outer.is_layout)
        alt = "" if about is None else about.get("descr", "") or about.get("title", "")
        margin = next((_MARGINS[each] for each in kinds if each in _MARGINS), "") if is_read else ""
        return _Shape(is_hidden, outer.is_layout, is_read, margin, "" if kinds.isdisjoint(_TITLES) else "# ", alt)

    def _begin_paragraph(self, element: Element) -> None:
        properties = element.find("pPr")
        level, self._bullet = 0, ""
        if properties is not None:
            level = _number(properties.get("lvl", ""), _MAX_LEVEL)
            numbered = properties.find("buAutoNum")
            if numbered is not None:
                first = _number(numbered.get("startAt", "1"), 32767)
                kind = numbered.get("type", "")
                before = self._counts.get(level)
                # Another kind of numbers, or another beginning, is another list.
                self._counts[level] = (before[0] + 1 if before and before[1:] == (kind, first) else first, kind, first)
                self._bullet = _numbered(self._counts[level][0], kind)
            elif level or properties.find("buChar") is not None or properties.find("buBlip") is not None:
                self._bullet = "- " if properties.find("buNone") is None else ""
            keep = level if numbered is not None else level - 1
            self._counts = {at: count for at, count in self._counts.items() if at <= keep}
        else:
            self._counts.clear()
        self._bullet = "  " * level + self._bullet

    def _end(self, element: Element, place: _Shape) -> None:
        name = element.tag
        if name in ("r", "fld"):
            self.runs.end_link()
        elif name == "p":
            self.runs.put(" " if self._cells else "\n")
        elif name == "tc":
            self._cells -= 1
            cell = " ".join(self.runs.release().split())
            if not xml.is_on(element.get("hMerge", "")):
                self._rows[-1:] = [
                    [*row, *spread(cell, max(_number(element.get("gridSpan", ""), _MAX_SPAN), 1))] for row in self._rows[-1:]
                ]
        elif name == "tr":
            self.runs.put("\t".join(self._rows.pop()) + "\n")
        elif name in _OBJECTS:
            self._end_object(element, place)

    def _end_object(self, element: Element, place: _Shape) -> None:
        if place.margin:
            text = " ".join(self.runs.release().split())
            marked = mark(place.margin, text)
            if text and marked not in self.written:
                self.written.add(marked)
                self.runs.put(f"{marked}\n")
        elif place.alt and not any(each.tag in ("t", "blip", "oleObj") for each in element.iter()):
            self._put_line(mark("Picture", place.alt), place)
        for each in _within(element):
            if each.tag == "cNvPr" and (address := self._address(each.find("hlinkClick"))):
                self._put_line(mark("Link", address), place)

    def _put_line(self, text: str, place: _Shape) -> None:
        """Write a mark on a line of its own."""
        if place.is_hidden:
            self.has_hidden |= place.is_read
        elif place.is_read:
            self.runs.put(f"{text}{' ' if self._cells else chr(10)}")

    def _address(self, element: Element | None) -> str:
        return "" if element is None else self.addresses.get(xml.attribute(element.attrib, "id", "relationships"), "")

    def put(self, text: str, place: _Shape, look: Look = PLAIN) -> None:
        """Write text in a place, unless that is hidden."""
        if place.is_hidden:
            self.has_hidden |= place.is_read
        elif place.is_read:
            before = self.before + place.before + self._bullet
            if before.strip() or self._bullet:
                self.runs.put(before)
            self.runs.put(text, look)
            self.before = place.before = self._bullet = ""

    def put_text(self, element: Element, place: _Shape) -> None:
        if text := "".join(element.itertext()):
            self.put(text, place, place.look)

    def put_break(self, element: Element, place: _Shape) -> None:
        if place.is_read and not place.is_hidden:
            self.runs.put(" " if self._cells else "\n")

    def put_formula(self, element: Element, place: _Shape) -> None:
        self.put(" ".join(formulas.written(element).split()), place)

    def put_drawing(self, element: Element, place: _Shape) -> None:
        """A chart or a diagram, which have parts of their own."""
        is_chart = element.tag == "chart"
        key = xml.attribute(element.attrib, "id" if is_chart else "dm", "relationships")
        target = self.relations.get(key, ("", ""))[1]
        if target not in self.archive:
            self.collector.count(UnreadThing.CHART if is_chart else UnreadThing.DIAGRAM)
            return
        tree = self.archive.tree(target)
        self._put_line(drawings.chart(tree) if is_chart else drawings.diagram(tree), place)

    def put_picture(self, element: Element, place: _Shape) -> None:
        if place.is_layout or not element.attrib:
            return
        if place.alt:
            self._put_line(mark("Picture", place.alt), place)
        elif not place.is_hidden:
            self.collector.count(UnreadThing.PICTURE)

    def skip(self, element: Element, place: _Shape) -> None:
        """Read already, with the object around it."""


def _within(element: Element) -> Iterator[Element]:
    """What is in an object, but in none of the objects in it."""
    for child in element:
        if child.tag not in _OBJECTS:
            yield child
            yield from _within(child)


def _look(element: Element) -> Look:
    properties = element.find("rPr")
    if properties is None:
        return PLAIN
    raised = properties.get("baseline", "0").rstrip("%")
    level = -1 if raised.startswith("-") else int(bool(raised.strip("0")))
    return Look(level, properties.get("strike", "noStrike") != "noStrike")


_FORMATS = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
    "arabicDb": "decimalFullWidth",
    **dict.fromkeys(("circleNumDb", "circleNumWdBlack", "circleNumWdWhite"), "decimalEnclosedCircle"),
    **dict.fromkeys(("ea1Chs", "ea1Cht", "ea1JpnChsDb", "ea1JpnKor"), "chineseCountingThousand"),
    "hebrew2": "hebrew2",
    "arabic1": "arabicAbjad",
    "arabic2": "arabicAlpha",
    "thaiAlpha": "thaiLetters",
    "thaiNum": "thaiNumbers",
    "hindiNum": "hindiNumbers",
}
"""Kinds of numbers; others are digits."""


def _numbered(number: int, kind: str) -> str:
    """The number of a list's item. ``kind``: such as ``romanLcParenBoth``."""
    for end, form in (("ParenBoth", "({}) "), ("ParenR", "{}) "), ("Plain", "{} "), ("Minus", "{}- "), ("Period", "{}. ")):
        if kind.endswith(end):
            return form.format(counted(number, _FORMATS.get(kind.removesuffix(end), "decimal")))
    return f"{number}. "


def _number(value: str, most: int) -> int:
    return min(int(value), most) if value.isdecimal() and len(value) < 9 else 0


_LEAVES = {
    "t": _Shapes.put_text,
    "br": _Shapes.put_break,
    "oMath": _Shapes.put_formula,
    **dict.fromkeys(("chart", "relIds"), _Shapes.put_drawing),
    "blip": _Shapes.put_picture,
    **dict.fromkeys(("cNvPr", "ph"), _Shapes.skip),
}
"""Elements that are read without walking through what is in them."""
