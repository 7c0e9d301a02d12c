"""Reads an XLSX workbook, sheet by sheet, as lines of cells separated by tabs.

Dates and times are recognized and formatted: a workbook stores them as numbers of days since 1900 with a display format.

Cells are read as a stream: the declared size of a sheet is ignored, and empty cells cost nothing. A cell after a large gap is written with
its row or column number, not after a million empty cells. Hidden sheets, rows and columns are left out, and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from xml.etree.ElementTree import Element

from chatui.documents.inside import xml
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.office import main_part, of_kind, relations
from chatui.documents.inside.text_collector import FullError, TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing

_BUILT_IN = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_NO_CODES = re.compile(r'"[^"]*"|\\.|_.|\[[^\]]*\]')
"""Matches literal text, colours and conditions in a format."""
_CODES = re.compile(r"[dmyhs]", re.IGNORECASE)
_NOTHING = re.compile(r'(?:\s|""|\[[^\]]*\])*(?:;(?:\s|""|\[[^\]]*\])*){3}')
"""Matches a format whose four sections (for positive and negative numbers, zero and text) are empty."""
_DAYS = 2_958_466
_FIRST = datetime(1899, 12, 30, tzinfo=UTC)
_FIRST_OF_1904 = datetime(1904, 1, 1, tzinfo=UTC)
_DECIMALS = re.compile(r"-?[0-9]{1,15}\.[0-9]{10,20}\Z")


@dataclass(slots=True)
class Formats:
    """The styles of a workbook. ``shown`` formats its numbers. ``_own``: whether a format of its own is of dates."""

    is_from_1904: bool = False
    _own: dict[str, bool] = field(default_factory=dict)
    _hiding: set[str] = field(default_factory=set)
    _of_cells: list[str] = field(default_factory=list)

    def read(self, tree: Element) -> None:
        """Read the formats. Those of named styles are ignored, because no cell uses them."""
        for each in tree.iter("numFmt"):
            name, code = each.get("numFmtId", ""), each.get("formatCode", "")
            self._own[name] = bool(_CODES.search(_NO_CODES.sub("", code)))
            if _NOTHING.fullmatch(code):
                self._hiding.add(name)
        self._of_cells = [each.get("numFmtId", "") for each in tree.iterfind(".//cellXfs/xf")]

    def shown(self, number: str, style: str) -> str:
        """A cell's number as text. ``style``: the cell's style index."""
        name = self._name(style)
        if self._own.get(name, _number(name) in _BUILT_IN):
            return self._date(number)
        # The result of 0.1 + 0.2 is stored with all of its digits.
        return f"{float(number):.15g}" if _DECIMALS.match(number) else number

    def hides(self, style: str) -> bool:
        """Whether cells of a style show nothing of what is in them."""
        return bool(self._hiding) and self._name(style) in self._hiding

    def _name(self, style: str) -> str:
        at = _number(style) or 0
        return self._of_cells[at] if at < len(self._of_cells) else ""

    def _date(self, number: str) -> str:
        try:
            days = float(number)
        except ValueError:
            return number
        if not 0 <= days < _DAYS:
            return number
        first = _FIRST_OF_1904 if self.is_from_1904 else _FIRST
        when = first + timedelta(seconds=round(days * 86_400))
        if days < 1:
            return when.strftime("%H:%M:%S")
        return when.strftime("%Y-%m-%d" if when.time() == time.min else "%Y-%m-%d %H:%M:%S")


_SHEET_ELEMENTS = KnownThings(
    read=frozenset(["cols", "sheetData"]),
    plain=frozenset(
        [
            *("autoFilter", "cellWatches", "colBreaks", "conditionalFormatting", "customProperties", "customSheetViews", "dataConsolidate"),
            *("dataValidations", "dimension", "drawing", "drawingHF", "hyperlinks", "ignoredErrors", "legacyDrawing", "legacyDrawingHF"),
            *("mergeCells", "pageMargins", "pageSetup", "phoneticPr", "printOptions", "protectedRanges", "rowBreaks", "scenarios"),
            *("sheetCalcPr", "sheetPr", "sheetProtection", "sheetViews", "sortState", "tableParts", "webPublishItems"),
        ]
    ),
    counted={
        "control": UnreadThing.FIELD,
        "headerFooter": UnreadThing.HEADER,
        "hyperlink": UnreadThing.LINK,
        "oleObject": UnreadThing.FILE,
        "picture": UnreadThing.PICTURE,
    },
)
_SHEET_PARTS = KnownThings(
    read=frozenset(),
    plain=frozenset(["customProperty", "hyperlink", "person", "printerSettings", "queryTable", "table", "vmlDrawing"]),
    counted={
        "comments": UnreadThing.COMMENT,
        "control": UnreadThing.FIELD,
        "ctrlProp": UnreadThing.FIELD,
        "drawing": UnreadThing.SHAPE,
        "image": UnreadThing.PICTURE,
        "oleObject": UnreadThing.FILE,
        "package": UnreadThing.FILE,
        "pivotTable": UnreadThing.PIVOT,
        "threadedComment": UnreadThing.COMMENT,
    },
)


MAX_CELLS = 200_000
MAX_STRINGS = 500_000
MAX_GAP = 50
"""The largest gap of empty cells or rows that is written out. Larger gaps are collapsed."""
MAX_CELL_CHARS = 32_767
_MAX_COLUMNS = 16_384


_OF_CELLS = ("sheetFormatPr", "col", "row")


def read(data: bytes, collector: TextCollector) -> None:
    """Read each sheet that people see as one part."""
    archive = Archive(data)
    main = main_part(archive)
    related = relations(archive, main)
    formats = Formats()
    sheets = _sheets(archive, main, collector, formats)
    if (place := of_kind(related, "styles")) in archive:
        formats.read(archive.tree(place))
    collector.places = len(sheets)
    cells = _Cells(collector, list(_strings(archive, of_kind(related, "sharedStrings"))), formats)
    for name, relation in sheets:
        collector.begin(f"sheet {name}", is_place=True)
        kind, place = related.get(relation, ("", ""))
        if kind == "worksheet":
            cells.begin(name)
            _SHEET_PARTS.count_parts((kind for kind, _ in relations(archive, place).values()), collector)
            for element in archive.each(place, *_OF_CELLS, within=("worksheet",)):
                if element.tag in _OF_CELLS:
                    cells.read(element)
                else:
                    _SHEET_ELEMENTS.look_into(element, collector)


def _strings(archive: Archive, place: str) -> Iterator[str]:
    """The texts that cells name by their number."""
    for number, entry in enumerate(archive.each(place, "si") if place in archive else ()):
        if number == MAX_STRINGS:
            raise UnreadableFileError(NoTextReason.LIMIT)
        # ``rPh`` says how a text is pronounced.
        yield "".join(each.text or "" for run in entry if run.tag != "rPh" for each in run.iter("t"))[:MAX_CELL_CHARS]


def _sheets(archive: Archive, main: str, collector: TextCollector, formats: Formats) -> list[tuple[str, str]]:
    """The name and the relationship of each sheet that people see."""
    sheets: list[tuple[str, str]] = []
    for element in archive.tree(main).iter():
        name = element.get("name", "")
        if element.tag == "sheet" and element.get("state", "visible") != "visible":
            collector.leave_out(HiddenPart.SHEET, name)
        elif element.tag == "sheet":
            sheets.append((name, xml.attribute(element.attrib, "id", "relationships")))
        elif element.tag == "workbookPr":
            formats.is_from_1904 = element.get("date1904", "").lower() in ("1", "true")
    return sheets


@dataclass(slots=True)
class _Cells:
    collector: TextCollector
    strings: list[str]
    formats: Formats
    _count: int = 0
    _row: int = 0
    _column: int = 0
    _last_row: int = 0
    _last_column: int = 0
    _sheet: str = ""
    _hidden_columns: bytearray = field(default_factory=bytearray)

    def begin(self, sheet: str) -> None:
        self._sheet, self._hidden_columns = sheet, bytearray(_MAX_COLUMNS + 1)
        self._row = self._last_row = self._last_column = 0

    def read(self, element: Element) -> None:
        """Read a row, or what is said about columns."""
        if element.tag == "sheetFormatPr" and not _is_visible(element.get("defaultColWidth", "1")):
            self._hidden_columns = bytearray(b"\1" * (_MAX_COLUMNS + 1))
        elif element.tag == "col":
            first, last = (min(_number(element.get(end, "")) or 0, _MAX_COLUMNS) for end in ("min", "max"))
            self._hidden_columns[first : last + 1] = bytes([_is_hidden(element, "width")]) * max(last + 1 - first, 0)
        elif element.tag == "row":
            row = _number(element.get("r", ""))
            self._row, self._column = self._row + 1 if row is None else row, 0
            is_hidden_row = _is_hidden(element, "ht")
            for cell in element.iter("c"):
                self._column = _column(cell.get("r", "")) or self._column + 1
                if not (text := self._text(cell)):
                    continue
                is_hidden = is_hidden_row or self._hidden_columns[min(self._column, _MAX_COLUMNS)]
                if is_hidden or self.formats.hides(cell.get("s", "")):
                    self.collector.leave_out(HiddenPart.CELLS, self._sheet)
                else:
                    self._put(text)

    def _put(self, text: str) -> None:
        self._count += 1
        if self._count > MAX_CELLS:
            self.collector.is_cut = True
            raise FullError
        before = ""
        if self._row != self._last_row:
            gap = self._row - self._last_row
            far = f"[row {self._row}]\n" if gap > MAX_GAP or gap < 0 else ""
            before = ("\n" if self._last_row else "") + (far or "\n" * (gap - 1))
            self._last_row, self._last_column = self._row, 1
        gap = self._column - self._last_column
        before += f"\t[column {self._column}]\t" if gap > MAX_GAP or gap < 0 else "\t" * gap
        self._last_column = self._column
        self.collector.put(before + text)

    def _text(self, cell: Element) -> str:
        kind = cell.get("t", "n")
        raw = "".join(each.text or "" for each in cell.iter() if each.tag in ("v", "t"))[:MAX_CELL_CHARS]
        if kind == "s":
            at = _number(raw)
            return " ".join(self.strings[at].split()) if at is not None and at < len(self.strings) else ""
        if kind == "b":
            return {"0": "FALSE", "1": "TRUE"}.get(raw, raw)
        if kind == "n":
            return self.formats.shown(raw, cell.get("s", ""))
        return " ".join(raw.split())


def _is_hidden(element: Element, size: str) -> bool:
    """Whether a row or column is hidden, or is too low or narrow to be seen. ``size``: the name of its size."""
    return xml.is_on(element.get("hidden", "")) or not _is_visible(element.get(size, "1"))


def _number(text: str) -> int | None:
    """An index; None if it is none."""
    return int(text) if text.isdecimal() and len(text) < 9 else None


def _is_visible(size: str) -> bool:
    """Whether a row of so many points, or a column of so many characters, can be seen."""
    try:
        return float(size) >= 1
    except ValueError:
        return False


def _column(address: str) -> int:
    """The column number of a cell address: 28 for ``AB12``; 0 if there is none."""
    letters = re.match(r"[A-Z]{1,3}", address)
    number = 0
    for letter in letters[0] if letters else "":
        number = number * 26 + ord(letter) - 64
    return number if number <= _MAX_COLUMNS else 0
