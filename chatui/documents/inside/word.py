"""Reads a DOCX document as people see it: headings, numbers of clauses, lists, tables, links, notes, comments, formulas, charts, headers.

What is deleted or hidden is left out, and said so; what is struck out is marked. ``KNOWN`` lists the elements of the format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import Element

from chatui.documents.inside import drawings, formulas, symbols, xml
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.marks import PLAIN, Look, Runs, mark, spread
from chatui.documents.inside.numbering import Numbering
from chatui.documents.inside.office import Relations, addresses, main_part, of_kind, relations
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.inside.word_styles import OFF, WordStyles, changed, list_of, look_of, outline_depth
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart, UnreadThing

_BODY = ("document", "body")
_ADDRESS = re.compile(r'HYPERLINK\b[^"]*"([^"]+)"', re.IGNORECASE)
_SYMBOL = re.compile(r"\s*SYMBOL\s+(0x[0-9a-f]{1,5}|\d{1,6})", re.IGNORECASE)
_FONT_SWITCH = re.compile(r'\\f\s*(?:"([^"]*)"|(\S+))', re.IGNORECASE)
_EQUATION = re.compile(r"\s*EQ\s+(.+)", re.IGNORECASE | re.DOTALL)
_SHOWS = re.compile(r"\s*(?:INCLUDE|LINK|EMBED|DATABASE|DDE|IMPORT|BARCODE|DISPLAYBARCODE|MERGEFIELD|IF|QUOTE|=)", re.IGNORECASE)
"""Fields that show something which is not in the document's text if they have no result."""
_HIDDEN_SHAPE = re.compile(r"visibility\s*:\s*hidden|display\s*:\s*none", re.IGNORECASE)
_MAX_SPAN = 100

_READ = """
document body p r t tbl tr tc sdt sdtContent smartTag customXml hyperlink fldSimple ins moveTo bdo dir ruby rt rubyBase drawing inline
anchor graphic graphicData wsp wgp wpc grpSp sp txbx txbxContent pict shape rect roundrect oval line polyline arc curve group textbox
textpath AlternateContent Choice pic nvPicPr blipFill blip imagedata docPr cNvPr object oMath oMathPara chart relIds tab ptab br cr sym
noBreakHyphen fldChar instrText footnoteReference endnoteReference commentReference sectPr footnote endnote comment hdr ftr
"""
_PLAIN = """
pPr rPr tblPr tblPrEx tblGrid trPr tcPr sdtPr sdtEndPr smartTagPr customXmlPr oMathParaPr ctrlPr rubyPr fldData background proofErr pgNum
softHyphen lastRenderedPageBreak bookmarkStart bookmarkEnd permStart permEnd commentRangeStart commentRangeEnd annotationRef footnoteRef
endnoteRef separator continuationSeparator moveFromRangeStart moveFromRangeEnd moveToRangeStart moveToRangeEnd customXmlInsRangeStart
customXmlInsRangeEnd customXmlDelRangeStart customXmlDelRangeEnd customXmlMoveFromRangeStart customXmlMoveFromRangeEnd
customXmlMoveToRangeStart customXmlMoveToRangeEnd moveFrom Fallback extent effectExtent simplePos positionH positionV wrapNone wrapSquare
wrapTight wrapThrough wrapTopAndBottom sizeRelH sizeRelV cNvGraphicFramePr cNvPicPr cNvSpPr cNvCnPr cNvGrpSpPr cNvFrPr spPr grpSpPr style
bodyPr stretch srcRect tile extLst shapetype lock stroke fill shadow path formulas handles wrap extrusion borderleft borderright bordertop
borderbottom anchorlock callout skew complex nvGrpSpPr nvSpPr linkedTxbx delInstrText
"""
KNOWN = KnownThings(
    read=frozenset(_READ.split()),
    plain=frozenset(_PLAIN.split()),
    counted={
        "altChunk": UnreadThing.FILE,
        "OLEObject": UnreadThing.FILE,
        "objectEmbed": UnreadThing.FILE,
        "objectLink": UnreadThing.FILE,
        "subDoc": UnreadThing.FILE,
        "control": UnreadThing.FIELD,
        "contentPart": UnreadThing.SHAPE,
        "videoFile": UnreadThing.MEDIA,
        "webVideoPr": UnreadThing.MEDIA,
        "movie": UnreadThing.MEDIA,
        "del": UnreadThing.CHANGE,
    },
)
"""The elements of a document, its notes, headers and comments. Names of properties as they were before a change end in ``Change``."""


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part: its text, its notes, its headers and footers."""
    archive = Archive(data)
    main = main_part(archive)
    related = relations(archive, main)
    document = _Document(archive, related)
    document.prepare()
    collector.begin()
    body = _Text(collector, document, relations=related, addresses=addresses(archive, main))
    for element in archive.iter_elements(main, within=_BODY):
        body.walk(element, _Place(is_hidden_by_style=document.styles.hides_all))
    body.runs.end()
    for kind in ("footnote", "endnote"):
        document.put_notes(kind, collector)
    for key in dict.fromkeys(document.comments):
        collector.put(f"{document.comments[key]}\n")
    document.put_margins(collector)


@dataclass(slots=True)
class _Document:
    """What the parts of a document have in common."""

    archive: Archive
    related: Relations
    styles: WordStyles = field(default_factory=WordStyles)
    numbering: Numbering = field(default_factory=Numbering)
    notes: dict[tuple[str, str], int] = field(default_factory=dict)
    """The numbers of the notes that were referred to, by kind and id."""
    comments: dict[str, str] = field(default_factory=dict)
    """The comments that no place refers to yet: marks by id."""
    margins: list[str] = field(default_factory=list)
    """The relationships of the headers and footers in use."""
    has_even_pages: bool = False

    def prepare(self) -> None:
        for kind, use in (
            ("styles", self.styles.read),
            ("numbering", self.numbering.read),
            ("comments", self._read_comments),
            ("settings", self._read_settings),
        ):
            if (place := of_kind(self.related, kind)) in self.archive:
                use(self.archive.tree(place))

    def _read_comments(self, tree: Element) -> None:
        for each in tree.iter("comment"):
            text = " ".join("".join(t.text or "" for t in p.iter("t")) for p in each.iter("p"))
            author = xml.attribute(each.attrib, "author")
            self.comments[xml.attribute(each.attrib, "id")] = mark(f"Comment by {author}" if author else "Comment", text)

    def _read_settings(self, tree: Element) -> None:
        self.has_even_pages = any(xml.attribute(e.attrib, "val").lower() not in OFF for e in tree.iter("evenAndOddHeaders"))

    def add_section(self, element: Element) -> None:
        """Note which headers and footers a section shows."""
        has_first = any(xml.attribute(each.attrib, "val").lower() not in OFF for each in element.iter("titlePg"))
        for each in element:
            if each.tag in ("headerReference", "footerReference"):
                kind = xml.attribute(each.attrib, "type")
                if (kind != "first" or has_first) and (kind != "even" or self.has_even_pages):
                    self.margins.append(xml.attribute(each.attrib, "id", "relationships"))

    def put_notes(self, kind: str, collector: TextCollector) -> None:
        """Write the notes to which the text refers. Others are shown nowhere."""
        place = of_kind(self.related, f"{kind}s")
        if place not in self.archive:
            return
        for note in self.archive.tree(place):
            number = self.notes.get((kind, xml.attribute(note.attrib, "id")))
            if number is not None:
                self._put_part(place, f"[^{number}]: ", note, collector)
            elif not xml.attribute(note.attrib, "type") and _has_text(note):
                collector.leave_out(HiddenPart.TEXT, "")

    def put_margins(self, collector: TextCollector) -> None:
        """Write each header and footer in use, once."""
        seen: set[str] = set()
        for relationship in dict.fromkeys(self.margins):
            kind, place = self.related.get(relationship, ("", ""))
            if place in self.archive:
                part = _Text(collector, self, relations(self.archive, place), addresses(self.archive, place))
                part.runs.hold()
                part.walk(self.archive.tree(place), _Place(is_hidden_by_style=self.styles.hides_all))
                text = " ".join(part.runs.release().split())
                if text and text not in seen:
                    seen.add(text)
                    collector.put(f"{mark(kind.capitalize(), text)}\n")
        unused = {kind_place for kind_place in self.related.values() if kind_place[0] in ("header", "footer")}
        unused -= {self.related[relationship] for relationship in self.margins if relationship in self.related}
        if any(place in self.archive and _has_text(self.archive.tree(place)) for _, place in unused):
            collector.leave_out(HiddenPart.TEXT, "")

    def _put_part(self, place: str, before: str, element: Element, collector: TextCollector) -> None:
        text = _Text(collector, self, relations(self.archive, place), addresses(self.archive, place), before)
        text.walk(element, _Place(is_hidden_by_style=self.styles.hides_all))
        text.runs.end()


def _has_text(element: Element) -> bool:
    return any(each.text for each in element.iter("t"))


_STYLED = {"p": "paragraph", "tbl": "table", "r": "character"}
"""Elements with a style, and the type of their styles."""
_HIDES_CELLS = ("hidden", "del", "cellDel", "vMerge")
"""Properties of a row or a cell: it is hidden, deleted by a tracked change, or lies below a merged one."""
_DELETES = ("del", "cellDel")
_PROPERTIES = {"p": "pPr", "r": "rPr", "tbl": "tblPr", "tr": "trPr", "tc": "tcPr"}
_PUTS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_BOXES = ("inline", "anchor", "shape", "rect", "roundrect", "oval", "pict", "object", "pic")


@dataclass(slots=True)
class _Place:
    """What holds for the text of an element, and of what is in it."""

    name: str = ""
    is_hidden: bool = False
    is_hidden_by_style: bool = False
    """Whether a style hides its text, unless its run says otherwise."""
    is_vanished: bool | None = None
    """Whether its run says that it is hidden (``vanish``). None: the run says nothing."""
    look: Look = PLAIN
    font: str = ""
    """The font of a run, if it names one."""
    keeps_column: bool = False
    """Whether a cell that is not shown has its place in its row."""
    alt: list[str] = field(default_factory=list)
    """The description of a drawing, in a list that is emptied when it is written."""

    @property
    def hides(self) -> bool:
        """Whether a text is hidden. Programs differ in whether a style that hides text can undo another one; it is hidden if one of them
        hides it."""
        return self.is_hidden or (self.is_hidden_by_style if self.is_vanished is None else self.is_vanished)


@dataclass(slots=True)
class _Field:
    """A field whose parts are runs: its instruction, then its result. ``box``: what a form field shows."""

    instruction: list[str] = field(default_factory=list)
    is_result: bool = False
    has_result: bool = False
    has_link: bool = False
    box: str = ""


@dataclass(slots=True)
class _Text:
    """Writes the text of a part. ``before``: begins the next paragraph."""

    collector: TextCollector
    document: _Document
    relations: Relations
    addresses: dict[str, str]
    before: str = ""
    runs: Runs = field(init=False)
    _rows: list[list[str]] = field(default_factory=list)
    _cells: int = 0
    _fields: list[_Field] = field(default_factory=list)
    _instructions: int = 0
    """How many of the open fields are still at their instruction."""

    def __post_init__(self) -> None:
        self.runs = Runs(self.collector)

    def walk(self, element: Element, outer: _Place) -> None:
        """Write the text of an element that is in ``outer``."""
        name = element.tag
        if name.endswith("Change") or (name == "del" and not any(each.text for each in element.iter())):
            return
        if not KNOWN.look_into(element, self.collector):
            return
        if (leaf := _LEAVES.get(name)) is not None:
            leaf(self, element, outer)
            return
        place = self._entered(element, outer)
        if place.is_hidden:
            if _has_text(element):
                self.collector.leave_out(HiddenPart.TEXT, "")
            if place.keeps_column and self._rows:
                self._rows[-1] += [""] * _span(element)
            return
        self._begin(element, place)
        for child in element:
            self.walk(child, place)
        self._end(element, place)

    def _entered(self, element: Element, outer: _Place) -> _Place:
        name, style = element.tag, element.get("style", "")
        if name not in _PROPERTIES and name not in _BOXES and not style:
            return outer
        place = replace(outer, name=name)
        place.is_hidden |= _HIDDEN_SHAPE.search(style) is not None or (name in _BOXES and outer.hides)
        if name in _BOXES and not outer.alt:
            place.alt = self._alt(element, place)
        if name in _STYLED:
            place.is_hidden_by_style |= self.document.styles.hide(self.document.styles.defaults.get(_STYLED[name], ""))
        if name in ("p", "tbl"):
            place.look, place.is_vanished = PLAIN, None
        for properties in element.iterfind(_PROPERTIES.get(name, "none")):
            for each in properties:
                self._apply(place, each)
        return place

    def _alt(self, element: Element, place: _Place) -> list[str]:
        found = element.get("alt", "")
        for child in element:
            if child.tag in ("docPr", "nvPicPr"):
                for each in child.iter():
                    place.is_hidden |= xml.is_on(each.get("hidden", ""))
                    found = found or each.get("descr", "") or each.get("title", "")
        return [found] if found else []

    def _apply(self, place: _Place, element: Element) -> None:
        """Apply a property of a run, paragraph, table, row or cell to its place: a style, the look of a run, what hides a row or cell."""
        name, value = element.tag, xml.attribute(element.attrib, "val")
        is_on = value.lower() not in OFF
        if name in ("tblStyle", "pStyle", "rStyle"):
            place.is_hidden_by_style |= self.document.styles.hide(value)
            place.look = self.document.styles.look(value, place.look)
        elif place.name == "r":
            if name == "vanish":
                place.is_vanished = place.is_vanished or is_on
            elif name == "rFonts":
                place.font = xml.attribute(element.attrib, "ascii") or xml.attribute(element.attrib, "hAnsi")
            elif (found := look_of(element)) is not None:
                place.look = changed(place.look, dict([found]))
        elif place.name in ("tr", "tc") and name in _HIDES_CELLS and is_on and value != "restart":  # with which a merged cell begins
            if name in _DELETES:
                self.collector.count(UnreadThing.CHANGE)
            place.is_hidden = True
            place.keeps_column |= name == "vMerge"

    def _begin(self, element: Element, place: _Place) -> None:
        name = element.tag
        if name == "p":
            self._begin_paragraph(element, place)
        elif name in ("tbl", "tr"):
            self._rows.append([""] * min(_number(element.find("trPr/gridBefore")), _MAX_SPAN))
        elif name == "tc":
            self._cells += 1
            self.runs.hold()
        elif name in ("hyperlink", "fldSimple"):
            self.runs.begin_link(self._address(element))

    def _end(self, element: Element, place: _Place) -> None:
        name = element.tag
        if name == "p":
            if self.before.startswith("[^"):
                self._put_before()
            self.before = ""
            self.runs.put(" " if self._cells else "\n")
        elif name in ("tbl", "tr", "tc"):
            self._end_of_table(element)
        elif name in ("hyperlink", "fldSimple"):
            self.runs.end_link()
        elif name in _BOXES and place.alt and name != "pic":
            # Nothing in the drawing has taken its description.
            self.put(mark("Picture", place.alt.pop()), place)

    def _end_of_table(self, element: Element) -> None:
        if element.tag == "tc":
            self._cells -= 1
            cell = " ".join(self.runs.release().split())
            if self._rows:
                self._rows[-1] += spread(cell, _span(element))
            return
        row = self._rows.pop()
        if element.tag == "tr":
            # A table in a cell is on that cell's line.
            self.runs.put(f"{' | '.join(filter(None, row))} / " if self._cells else "\t".join(row) + "\n")

    def _begin_paragraph(self, element: Element, place: _Place) -> None:
        own = {each.tag: each for each in element.iterfind("pPr/*")}
        if "sectPr" in own:
            self.document.add_section(own["sectPr"])
        styles = self.document.styles
        style = xml.attribute(own["pStyle"].attrib, "val") if "pStyle" in own else styles.defaults.get("paragraph", "")
        chain = styles.chain(style)
        depth = outline_depth(xml.attribute(own["outlineLvl"].attrib, "val")) if "outlineLvl" in own else styles.depth(chain)
        name, level = list_of(own["numPr"]) if "numPr" in own else styles.list_of(chain)
        is_deleted = any(each.tag == "del" for each in own.get("rPr", ()))
        number = ""
        if not (place.hides or is_deleted or name == "0") and ("numPr" in own or name):
            name = name or styles.list_of(chain)[0]
            level = self.document.numbering.level_of_style(name, style) if level is None else level
            number = self.document.numbering.next(name, level)
            number = f"{'' if depth else '  ' * level}{number} " if number else ""
        before = f"{'#' * depth} {'' if number == '- ' else number}" if depth else number
        self.before = self.before + before if self.before.startswith("[^") else before

    def put(self, text: str, place: _Place, look: Look | None = None) -> None:
        """Write text in a place, unless that is hidden."""
        if place.hides:
            self.collector.leave_out(HiddenPart.TEXT, "")
        elif not self._instructions:
            self._put_before()
            self._note_result()
            self.runs.put(text, place.look if look is None else look)

    def _note_result(self) -> None:
        for each in self._fields:
            each.has_result = True

    def _put_before(self) -> None:
        if self.before:
            self.runs.put(self.before)
            self.before = ""

    def _address(self, element: Element) -> str:
        if element.tag == "fldSimple":
            found = _ADDRESS.search(xml.attribute(element.attrib, "instr"))
            return found[1] if found else ""
        return self.addresses.get(xml.attribute(element.attrib, "id", "relationships"), "")

    def put_text(self, element: Element, place: _Place) -> None:
        if text := "".join(element.itertext()):
            self.put(symbols.shown(text, place.font, self.collector) if not place.hides and not self._instructions else text, place)

    def put_sign(self, element: Element, place: _Place) -> None:
        """Tabs and breaks. The name of a tab is also that of a tab stop, which has attributes."""
        if not place.hides and not (element.tag == "tab" and element.attrib) and not self._instructions:
            self.runs.put(" " if self._cells else _PUTS[element.tag])

    def put_symbol(self, element: Element, place: _Place) -> None:
        """A character of a font in which codes have other meanings than in Unicode."""
        font, code = (xml.attribute(element.attrib, name) for name in ("font", "char"))
        if re.fullmatch("[0-9A-Fa-f]{1,6}", code):
            self.put(symbols.written(int(code, 16), font, self.collector), place)

    def put_formula(self, element: Element, place: _Place) -> None:
        hidden = any(xml.attribute(each.attrib, "val").lower() not in OFF for each in element.iter("vanish"))
        self.put(" ".join(formulas.written(element).split()), replace(place, is_hidden=place.is_hidden or hidden), PLAIN)

    def put_reference(self, element: Element, place: _Place) -> None:
        if place.hides or self._instructions:
            return
        notes, key = self.document.notes, (element.tag.removesuffix("Reference"), xml.attribute(element.attrib, "id"))
        self.put(f"[^{notes.setdefault(key, len(notes) + 1)}]", place, PLAIN)

    def put_comment(self, element: Element, place: _Place) -> None:
        if text := self.document.comments.pop(xml.attribute(element.attrib, "id"), ""):
            self.put(text, place, PLAIN)

    def put_drawing(self, element: Element, place: _Place) -> None:
        """A chart or a diagram, which have parts of their own."""
        is_chart = element.tag == "chart"
        key = xml.attribute(element.attrib, "id" if is_chart else "dm", "relationships")
        target = self.relations.get(key, ("", ""))[1]
        place.alt.clear()
        if target not in self.document.archive:
            self.collector.count(UnreadThing.CHART if is_chart else UnreadThing.DIAGRAM)
            return
        tree = self.document.archive.tree(target)
        text = drawings.chart(tree) if is_chart else drawings.diagram(tree)
        self.put(text if self._cells or not is_chart else f"{text}\n", place, PLAIN)

    def put_picture(self, element: Element, place: _Place) -> None:
        if not any(name.endswith(("embed", "link", "id", "href", "src")) for name in element.attrib):
            return
        self._note_result()
        if place.alt:
            self.put(mark("Picture", place.alt.pop()), place, PLAIN)
        elif not place.hides:
            self.collector.count(UnreadThing.PICTURE)

    def put_watermark(self, element: Element, place: _Place) -> None:
        if text := element.get("string", ""):
            self.put(text, place)

    def put_field(self, element: Element, place: _Place) -> None:
        """The beginning, the middle or the end of a field."""
        kind = xml.attribute(element.attrib, "fldCharType")
        if kind == "begin":
            self._fields.append(_Field(box=_box(element)))
            self._instructions += 1
        elif self._fields and kind == "separate" and not self._fields[-1].is_result:
            self._end_instruction(self._fields[-1])
            self._begin_field_link(self._fields[-1])
        elif self._fields and kind == "end":
            last = self._fields.pop()
            if last.has_link:
                self.runs.end_link()
            elif not last.is_result:
                self._end_instruction(last)
            if last.box:
                self.put(last.box, place)
            elif not last.has_result:
                self._put_computed("".join(last.instruction), place)

    def _put_computed(self, instruction: str, place: _Place) -> None:
        """A field whose instruction alone says what it shows."""
        if self._instructions or place.hides:
            return
        if found := _SYMBOL.match(instruction):
            font = _FONT_SWITCH.search(instruction)
            code = int(found[1], 16 if found[1].startswith("0x") else 10)
            self.put(symbols.written(code, (font[1] or font[2]) if font else "", self.collector), place)
        elif found := _EQUATION.match(instruction):
            self.put(mark("Formula", found[1]), place)
        elif _SHOWS.match(instruction):
            self.collector.count(UnreadThing.FIELD)

    def _end_instruction(self, last: _Field) -> None:
        last.is_result = True
        self._instructions -= 1

    def _begin_field_link(self, last: _Field) -> None:
        if not self._instructions and (found := _ADDRESS.search("".join(last.instruction))):
            last.has_link = "\\l" not in found[0]
            if last.has_link:
                self.runs.begin_link(found[1])

    def put_instruction(self, element: Element, place: _Place) -> None:
        if self._fields and not self._fields[-1].is_result:
            self._fields[-1].instruction.append(element.text or "")

    def put_section(self, element: Element, place: _Place) -> None:
        self.document.add_section(element)

    def put_ruby(self, element: Element, place: _Place) -> None:
        """Characters with their pronunciation above them."""
        base, above = ("".join(t.text or "" for part in element.iter(name) for t in part.iter("t")) for name in ("rubyBase", "rt"))
        self.put(f"{base}({above})" if above else base, place)

    def put_link_of_drawing(self, element: Element, place: _Place) -> None:
        """Write the addresses of its links. What else is in these elements was read with the drawing around them."""
        for each in element.iter("hlinkClick"):
            if address := self._address(each):
                self.put(mark("Link", address), place, PLAIN)


def _box(element: Element) -> str:
    """What a form field of the older kind shows, besides its text."""
    for each in element.iter("checkBox"):
        states = {child.tag: xml.attribute(child.attrib, "val").lower() not in OFF for child in each}
        return "☒" if states.get("checked", states.get("default", False)) else "☐"
    for each in element.iter("ddList"):
        at = _number(each.find("result"))
        entries = [xml.attribute(child.attrib, "val") for child in each if child.tag == "listEntry"]
        return entries[at] if at < len(entries) else ""
    return ""


def _span(element: Element) -> int:
    """How many columns a cell has."""
    return min(max(_number(element.find("tcPr/gridSpan")), 1), _MAX_SPAN)


def _number(element: Element | None) -> int:
    value = "" if element is None else xml.attribute(element.attrib, "val")
    return int(value) if value.isdecimal() and len(value) < 6 else 0


_LEAVES = {
    "t": _Text.put_text,
    **dict.fromkeys(_PUTS, _Text.put_sign),
    "sym": _Text.put_symbol,
    "oMath": _Text.put_formula,
    **dict.fromkeys(("footnoteReference", "endnoteReference"), _Text.put_reference),
    "commentReference": _Text.put_comment,
    **dict.fromkeys(("chart", "relIds"), _Text.put_drawing),
    **dict.fromkeys(("blip", "imagedata"), _Text.put_picture),
    "textpath": _Text.put_watermark,
    "fldChar": _Text.put_field,
    "instrText": _Text.put_instruction,
    "sectPr": _Text.put_section,
    "ruby": _Text.put_ruby,
    **dict.fromkeys(("docPr", "cNvPr", "nvPicPr", "pgNum"), _Text.put_link_of_drawing),
}
"""Elements that are read without walking through what is in them."""
