"""Reads an XLSX workbook sheet by sheet, as people see it: numbers in their formats, merged cells, comments, links, text boxes, charts.

Cells are read as a stream: the declared size of a sheet is ignored, and empty cells cost nothing. Hidden sheets, rows and columns are left
out, and named. A formula without a stored value is written as the formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from chatui.documents.inside import drawings, number_formats, xml
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.grid import MAX_CELL_CHARS, MAX_COLUMNS, Grid, MergedCells
from chatui.documents.inside.marks import PLAIN, Look, linked, mark
from chatui.documents.inside.number_formats import NumberFormat
from chatui.documents.inside.office import Relations, addresses, main_part, of_kind, relations
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing
from chatui.documents.limits import MAX_STRINGS

NO_VALUE = "no value stored"

_BOOK_PARTS = KnownThings(
    read=frozenset(["chartsheet", "sharedStrings", "styles", "worksheet"]),
    plain=frozenset(
        [
            *(
                "attachedToolbars",
                "calcChain",
                "connections",
                "customProperty",
                "customXml",
                "dialogsheet",
                "externalLink",
                "featurePropertyBag",
            ),
            *(
                "person",
                "pivotCacheDefinition",
                "rdArray",
                "rdRichValue",
                "rdRichValueStructure",
                "rdRichValueTypes",
                "rdRichValueWebImage",
            ),
            *("rdSupportingPropertyBag", "rdSupportingPropertyBagStructure", "richStyles", "revisionHeaders", "sheetMetadata"),
            *("slicerCache", "tableStyles", "theme", "timelineCache", "usernames", "volatileDependencies", "xmlMaps"),
        ]
    ),
    counted={
        "cellImage": UnreadThing.PICTURE,
        "vbaProject": UnreadThing.SCRIPT,
        "xlIntlMacrosheet": UnreadThing.SCRIPT,
        "xlMacrosheet": UnreadThing.SCRIPT,
    },
)
_SHEET_PARTS = KnownThings(
    read=frozenset(["comments", "drawing", "hyperlink", "threadedComment"]),
    plain=frozenset(
        [
            *("customProperty", "ctrlProp", "namedSheetView", "person", "pivotTable", "printerSettings", "queryTable", "slicer", "table"),
            *("tableSingleCells", "timeline", "vmlDrawing"),
        ]
    ),
    counted={
        "control": UnreadThing.FIELD,
        "image": UnreadThing.PICTURE,
        "oleObject": UnreadThing.FILE,
        "package": UnreadThing.FILE,
    },
)
"""What a control and an embedded file look like is in the sheet's old drawing, too: it is counted by the part that has the thing itself."""
KNOWN = KnownThings(
    read=frozenset(["cols", "ext", "extLst", "sheetData"]),
    plain=frozenset(
        [
            *("autoFilter", "cellWatches", "colBreaks", "conditionalFormatting", "conditionalFormattings", "controls", "customProperties"),
            *(
                "customSheetViews",
                "dataConsolidate",
                "dataValidations",
                "dimension",
                "drawing",
                "drawingHF",
                "ignoredErrors",
                "legacyDrawing",
            ),
            *("legacyDrawingHF", "oleObjects", "pageMargins", "pageSetup", "phoneticPr", "printOptions", "protectedRanges", "rowBreaks"),
            *("scenarios", "sheetCalcPr", "sheetPr", "sheetProtection", "sheetViews", "slicerList", "sortState", "tableParts"),
            *("timelineRefs", "webExtensions", "webPublishItems", "picture"),
        ]
    ),
    counted={"smartTags": UnreadThing.OTHER, "sparklineGroup": UnreadThing.CHART},
)
_DRAWING = KnownThings(
    read=frozenset(
        [
            *("AlternateContent", "Choice", "absoluteAnchor", "bodyPr", "graphic", "graphicData", "graphicFrame", "grpSp", "oneCellAnchor"),
            *("sp", "twoCellAnchor", "wsDr", "userShapes", "absSizeAnchor", "relSizeAnchor"),
        ]
    ),
    plain=frozenset(
        [
            *("Fallback", "clientData", "ext", "from", "grpSpPr", "nvGraphicFramePr", "nvGrpSpPr", "nvSpPr", "pos", "spPr", "style"),
            *("to", "xfrm", "cxnSp"),
        ]
    ),
    counted={"contentPart": UnreadThing.SHAPE, "oleObj": UnreadThing.FILE, "slicer": UnreadThing.FIELD, "timeslicer": UnreadThing.FIELD},
)


@dataclass(slots=True)
class Formats:
    """The styles of a workbook's cells. ``of_cells``: the format of each, and whether it strikes text out."""

    is_from_1904: bool = False
    of_cells: list[tuple[NumberFormat | None, bool]] = field(default_factory=list)

    def read(self, tree: Element) -> None:
        """Read the formats. Those of named styles are ignored, because no cell uses them."""
        own = {each.get("numFmtId", ""): each.get("formatCode", "") for each in tree.iter("numFmt")}
        struck = [any(xml.is_on(each.get("val", "1")) for each in font.iter("strike")) for font in tree.iterfind("./fonts/font")]
        for each in tree.iterfind(".//cellXfs/xf"):
            name, font = each.get("numFmtId", ""), number_of(each.get("fontId", ""))
            code = own.get(name) or number_formats.BUILT_IN.get(number_of(name) or 0, "")
            is_plain = code.lower() in ("", "general", "standard")
            self.of_cells.append(
                (None if is_plain else number_formats.parsed(code), font is not None and font < len(struck) and struck[font])
            )

    def shown(self, number: str, style: str) -> str:
        """A cell's number as text; empty if its format shows nothing. ``style``: the cell's style index."""
        try:
            value = float(number)
        except ValueError:
            return number
        found, _ = self.of(style)
        return found.shown(value, self.is_from_1904) if found else number_formats.general(value) if _is_long(number) else number

    def of(self, style: str) -> tuple[NumberFormat | None, bool]:
        at = number_of(style) or 0
        return self.of_cells[at] if at < len(self.of_cells) else (None, False)


def _is_long(number: str) -> bool:
    """Whether a number is written in another way than people see it: with 17 digits, or in the notation of programs."""
    return len(number) > 15 or "e" in number.lower()


def read(data: bytes, collector: TextCollector) -> None:
    """Read each sheet that people see as one part."""
    archive = Archive(data)
    main = main_part(archive)
    related = relations(archive, main)
    _BOOK_PARTS.count_parts((kind for kind, _ in related.values()), collector)
    formats = Formats()
    sheets = _sheets(archive, main, collector, formats)
    if (place := of_kind(related, "styles")) in archive:
        formats.read(archive.tree(place))
    collector.places = len(sheets)
    reader = _Reader(archive, Grid(collector), list(_strings(archive, of_kind(related, "sharedStrings"))), formats)
    for kind, place in related.values():
        if kind == "person" and place in archive:
            reader.persons.update({each.get("id", ""): each.get("displayName", "") for each in archive.tree(place).iter("person")})
    for name, relation in sheets:
        kind, place = related.get(relation, ("", ""))
        reader.read(name, place if kind in ("worksheet", "chartsheet") else "")


def _strings(archive: Archive, place: str) -> Iterator[str]:
    """The texts that cells name by their number."""
    for number, entry in enumerate(archive.iter_elements(place, "si") if place in archive else ()):
        if number == MAX_STRINGS:
            raise UnreadableFileError(NoTextReason.STRINGS)
        yield _one_line(_rich_text(entry))


def _rich_text(entry: Element) -> str:
    """The text of runs, with signs for what is raised, lowered or struck out. ``rPh`` says how a text is pronounced."""
    return "".join(_look(run).written("".join(t.text or "" for t in run.iter("t"))) for run in entry if run.tag != "rPh")[:MAX_CELL_CHARS]


def _look(run: Element) -> Look:
    properties = run.find("rPr")
    if properties is None:
        return PLAIN
    level = {"superscript": 1, "subscript": -1}.get(next((each.get("val", "") for each in properties.iter("vertAlign")), ""), 0)
    return Look(level, any(xml.is_on(each.get("val", "1")) for each in properties.iter("strike")))


def _sheets(archive: Archive, main: str, collector: TextCollector, formats: Formats) -> list[tuple[str, str]]:
    """The name and the relationship of each sheet that people see."""
    sheets: list[tuple[str, str]] = []
    tree = archive.tree(main)
    if tree.tag != "workbook":
        raise UnreadableFileError(NoTextReason.BROKEN)
    for element in tree.iter():
        name = element.get("name", "")
        if element.tag == "sheet" and element.get("state", "visible") != "visible":
            collector.leave_out(HiddenPart.SHEET, name)
        elif element.tag == "sheet":
            sheets.append((name, xml.attribute(element.attrib, "id", "relationships")))
        elif element.tag == "workbookPr":
            formats.is_from_1904 = element.get("date1904", "").lower() in ("1", "true")
    return sheets


_OF_CELLS = ("sheetFormatPr", "col", "row")
_LINK_FORMULA = re.compile(r'\s*(?:_xlfn\.)?HYPERLINK\(\s*"([^"]+)"', re.IGNORECASE)
_PERSON_OF_THREAD = "tc={"
"""How the author of an old comment begins that only repeats a newer one."""


@dataclass(slots=True)
class _Reader:
    archive: Archive
    grid: Grid
    strings: list[str]
    formats: Formats
    persons: dict[str, str] = field(default_factory=dict)
    _row: int = 0
    _merged: list[MergedCells] = field(default_factory=list)
    _links: dict[tuple[int, int], str] = field(default_factory=dict)
    _header: str = ""

    def read(self, name: str, place: str) -> None:
        """Read a sheet. ``place``: its entry; empty for a sheet that has neither cells nor a chart."""
        self.grid.begin(name)
        if place:
            self._row = 0
            self._merged, self._links, self._header = [], {}, ""
            parts = relations(self.archive, place)
            _SHEET_PARTS.count_parts((kind for kind, _ in parts.values()), self.grid.collector)
            for element in self.archive.iter_elements(place, *_OF_CELLS, within=("worksheet",)):
                self._read_element(element)
                if self.grid.is_full:
                    break
            self._read_around(addresses(self.archive, place), parts)
        self.grid.write()

    def _read_element(self, element: Element) -> None:
        name, collector = element.tag, self.grid.collector
        if name == "row":
            self._read_row(element)
        elif name in _OF_CELLS:
            self._read_columns(element)
        elif name == "mergeCells":
            self._merged = [area for each in element if (area := _area(each.get("ref", "")))]
        elif name == "hyperlinks":
            self._links = {address_of(each.get("ref", "")): xml.attribute(each.attrib, "id", "relationships") for each in element}
        elif name == "headerFooter":
            self._header = printed_words(each.text or "" for each in element)
        else:
            KNOWN.count_all(element, collector)

    def _read_around(self, outside: Mapping[str, str], parts: Relations) -> None:
        """Read what belongs to the cells but is not in them, when all of them are read."""
        for (row, column), key in self._links.items():
            self.grid.link(row, column, outside.get(key, ""))
        for kind, place in parts.values():
            if kind in ("comments", "threadedComment") and place in self.archive:
                self._read_comments(self.archive.tree(place))
        self.grid.merge(self._merged)
        if self._header:
            self.grid.after.append(mark("On each printed page", self._header))
        for kind, place in parts.values():
            if kind == "drawing" and place in self.archive:
                _Drawing(self.archive, place, self.grid).read()

    def _read_columns(self, element: Element) -> None:
        if element.tag == "sheetFormatPr":
            if not _is_visible(element.get("defaultColWidth", "1")):
                self.grid.hide_columns()
            return
        first, last = (number_of(element.get(end, "")) or 0 for end in ("min", "max"))
        self.grid.hide_columns(first, last, _is_hidden(element, "width"))

    def _read_row(self, element: Element) -> None:
        row = number_of(element.get("r", ""))
        self._row, column = self._row + 1 if row is None else row, 0
        if _is_hidden(element, "ht"):
            self.grid.hide_row(self._row)
        for cell in element.iter("c"):
            column = address_of(cell.get("r", ""))[1] or column + 1
            self._read_cell(cell, column)

    def _read_cell(self, cell: Element, column: int) -> None:
        kind, raw = cell.get("t", "n"), "".join(each.text or "" for each in cell.iter() if each.tag == "v")[:MAX_CELL_CHARS]
        formula = cell.find("f")
        inline = cell.find("is")
        text, is_number = self._shown(kind, raw, cell.get("s", "")), kind in ("n", "d")
        if inline is not None:
            raw = _one_line(_rich_text(inline))
            text = self._shown("inlineStr", raw, cell.get("s", ""))
        if formula is not None and not raw and kind != "str" and inline is None:
            # A shared formula is written at its first cell alone.
            text, raw = f"={formula.text or ''} [{NO_VALUE}]", "="
        elif formula is not None and (found := _LINK_FORMULA.match(formula.text or "")):
            text = linked(text, found[1])
        if raw and not text:
            # Its format shows nothing of it.
            self.grid.leave_out()
        elif text:
            struck = self.formats.of(cell.get("s", ""))[1]
            self.grid.put(self._row, column, Look(is_struck=struck).written(text), is_number)

    def _shown(self, kind: str, raw: str, style: str) -> str:
        if kind == "n":
            return self.formats.shown(raw, style) if raw else ""
        if kind == "b":
            return {"0": "FALSE", "1": "TRUE"}.get(raw, raw)
        if kind == "d":
            return self._of_iso_date(raw, style)
        if kind == "s":
            at = number_of(raw)
            text = self.strings[at] if at is not None and at < len(self.strings) else ""
        else:
            text = _one_line(raw)
        found, _ = self.formats.of(style)
        return found.shown_text(text) if found and kind in ("s", "str", "inlineStr") and text else text

    def _of_iso_date(self, raw: str, style: str) -> str:
        found, _ = self.formats.of(style)
        try:
            when = datetime.fromisoformat(raw.rstrip("Z")).replace(tzinfo=UTC)
        except ValueError:
            return _one_line(raw)
        days = (when - datetime(1899, 12, 30, tzinfo=UTC)).total_seconds() / 86_400
        return found.shown(days) if found and days > 60 else _one_line(raw.replace("T", " ").removesuffix(" 00:00:00"))

    def _read_comments(self, tree: Element) -> None:
        """Comments beside their cells. What an old comment repeats of a newer one is not read."""
        authors = ["".join(each.itertext()) for each in tree.iter("author")]
        for comment in tree.iter():
            if comment.tag not in ("comment", "threadedComment"):
                continue
            at = number_of(comment.get("authorId", ""))
            author = authors[at] if at is not None and at < len(authors) else self.persons.get(comment.get("personId", ""), "")
            text = "".join(t.text or "" for t in comment.iter() if t.tag in ("t", "text"))
            if author.startswith(_PERSON_OF_THREAD) or not text.strip():
                continue
            text = text.strip().removeprefix(f"{author}:") if author else text
            row, column = address_of(comment.get("ref", ""))
            self.grid.put(row, column, mark(f"Comment by {author}" if author else "Comment", text))


@dataclass(slots=True)
class _Drawing:
    """The drawing of a sheet: text boxes, charts, pictures. What they say stands below the cells."""

    archive: Archive
    place: str
    grid: Grid
    _parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def read(self) -> None:
        """Read the drawing."""
        self._parts = relations(self.archive, self.place)
        self._walk(self.archive.tree(self.place))

    def _walk(self, element: Element) -> None:
        name = element.tag
        if any(xml.is_on(each.get("hidden", "")) for part in element if part.tag.startswith("nv") for each in part.iter("cNvPr")):
            self.grid.leave_out()
        elif name == "pic":
            self._put_picture(element)
        elif name == "txBody":
            paragraphs = ["".join(each.text or "" for each in p.iter("t")) for p in element.iter("p")]
            if text := " ".join(filter(None, paragraphs)).strip():
                self.grid.after.append(mark("Text box", text))
        elif name in ("chart", "relIds"):
            self._put_part(element, is_chart=name == "chart")
        elif _DRAWING.look_into(element, self.grid.collector):
            for child in element:
                self._walk(child)

    def _put_picture(self, element: Element) -> None:
        words = next((each.get("descr", "") or each.get("title", "") for each in element.iter("cNvPr")), "").strip()
        if words:
            self.grid.after.append(mark("Picture", words))
        else:
            self.grid.collector.count(UnreadThing.PICTURE)

    def _put_part(self, element: Element, is_chart: bool) -> None:
        key = xml.attribute(element.attrib, "id" if is_chart else "dm", "relationships")
        place = self._parts.get(key, ("", ""))[1]
        if place not in self.archive:
            self.grid.collector.count(UnreadThing.CHART if is_chart else UnreadThing.DIAGRAM)
            return
        tree = self.archive.tree(place)
        self.grid.after.append(drawings.chart(tree) if is_chart else drawings.diagram(tree))


_CODE_OF_HEADER = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|K[0-9]{2}[+-][0-9]{3}|[0-9]{1,3}|.)', re.DOTALL)
_SHOWN_CODES = {"&P": "#", "&N": "#", "&&": "&", "&L": " ", "&C": " ", "&R": " "}


def printed_words(texts: Iterable[str]) -> str:
    """What the printed pages of a sheet have above and below the cells; empty if that is only numbers and names of pages."""
    plain = dict.fromkeys(_one_line(_CODE_OF_HEADER.sub(lambda code: _SHOWN_CODES.get(code[0], ""), text)) for text in texts)
    return "; ".join(text for text in plain if re.search(r"[^\W\d_]{3}", text.replace("Page #", "")))


_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def _one_line(text: str) -> str:
    """A text on one line. Characters that XML cannot have, and line ends, are escaped (ECMA-376 part 1, 22.9.2.19)."""
    plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text
    return " ".join(plain.encode("utf-8", "ignore").decode().split())


def _is_hidden(element: Element, size: str) -> bool:
    """Whether a row or column is hidden, or is too low or narrow to be seen. ``size``: the name of its size."""
    return xml.is_on(element.get("hidden", "")) or not _is_visible(element.get(size, "1"))


def number_of(text: str) -> int | None:
    """An index; None if it is none."""
    return int(text) if text.isdecimal() and len(text) < 9 else None


def _is_visible(size: str) -> bool:
    """Whether a row of so many points, or a column of so many characters, can be seen."""
    try:
        return float(size) >= 1
    except ValueError:
        return False


def address_of(address: str) -> tuple[int, int]:
    """The row and column of a cell address: 3 and 28 for ``AB3``; 0 for what it lacks."""
    found = re.match(r"\$?([A-Z]{1,3})?\$?([0-9]{1,7})?", address)
    column = 0
    for letter in (found[1] if found else "") or "":
        column = column * 26 + ord(letter) - 64
    return int((found[2] if found else "") or 0), column if column <= MAX_COLUMNS else 0


def _area(reference: str) -> MergedCells | None:
    first, _, last = reference.partition(":")
    (top, left), (bottom, right) = address_of(first), address_of(last)
    return MergedCells(top, left, bottom, right) if 0 < top <= bottom and 0 < left <= right else None
