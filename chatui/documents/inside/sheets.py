"""Reads an XLSX workbook, sheet by sheet, as lines of cells separated by tabs.

Dates and times are recognized and formatted: a workbook stores them as numbers of days since 1900 with a display format.

Cells are read as a stream: the declared size of a sheet is ignored, and empty cells cost nothing. A cell after a large gap is written with
its row or column number, not after a million empty cells. Hidden sheets, rows and columns are left out, and named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta

from chatui.documents.inside import xml
from chatui.documents.inside.office import main_part, of_kind, relations
from chatui.documents.inside.text_collector import FullError, TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive, Listener
from chatui.documents.kinds import HiddenPart, NoTextReason

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
    """The styles of a workbook, from the starts of their elements. Afterwards, ``shown`` formats its numbers."""

    is_from_1904: bool = False
    _own: dict[str, bool] = field(default_factory=dict)
    _hiding: set[str] = field(default_factory=set)
    _of_cells: list[str] = field(default_factory=list)
    _is_of_cells: bool = False

    def read(self, name: str, attributes: Mapping[str, str]) -> None:
        """Read a format. Those of named styles are ignored, because no cell uses them."""
        if name == "numFmt":
            code = attributes.get("formatCode", "")
            self._own[attributes.get("numFmtId", "")] = bool(_CODES.search(_NO_CODES.sub("", code)))
            if _NOTHING.fullmatch(code):
                self._hiding.add(attributes.get("numFmtId", ""))
        elif name in ("cellXfs", "cellStyleXfs"):
            self._is_of_cells = name == "cellXfs"
        elif name == "xf" and self._is_of_cells:
            self._of_cells.append(attributes.get("numFmtId", ""))

    def shown(self, number: str, style: str) -> str:
        """A cell's number as text. ``style``: the cell's style index."""
        if self._is_date(style):
            return self._date(number)
        # The result of 0.1 + 0.2 is stored with all of its digits.
        return f"{float(number):.15g}" if _DECIMALS.match(number) else number

    def hides(self, style: str) -> bool:
        """Whether cells of a style show nothing of what is in them."""
        return bool(self._hiding) and self._name(style) in self._hiding

    def _name(self, style: str) -> str:
        at = int(style) if style.isdecimal() and len(style) < 9 else 0
        return self._of_cells[at] if at < len(self._of_cells) else ""

    def _is_date(self, style: str) -> bool:
        name = self._name(style)
        if name in self._own:
            return self._own[name]
        return name.isdecimal() and len(name) < 9 and int(name) in _BUILT_IN

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


MAX_CELLS = 200_000
MAX_STRINGS = 500_000
MAX_GAP = 50
"""The largest gap of empty cells or rows that is written out. Larger gaps are collapsed."""
MAX_CELL_CHARS = 32_767
_MAX_COLUMNS = 16_384


def read(data: bytes, collector: TextCollector) -> None:
    """Read each sheet that people see as one part."""
    archive = Archive(data)
    main = main_part(archive)
    related = relations(archive, main)
    formats = Formats()
    sheets = _sheets(archive, main, collector, formats)
    strings = _Strings()
    if (place := of_kind(related, "sharedStrings")) in archive:
        archive.parse(place, strings)
    if (place := of_kind(related, "styles")) in archive:
        for name, attributes in archive.starts(place):
            formats.read(name, attributes)
    collector.places = len(sheets)
    cells = _Cells(collector, strings.all, formats)
    for name, relation in sheets:
        collector.begin(f"sheet {name}", is_place=True)
        kind, place = related.get(relation, ("", ""))
        if kind == "worksheet":
            cells.begin(name)
            archive.parse(place, cells)


def _sheets(archive: Archive, main: str, collector: TextCollector, formats: Formats) -> list[tuple[str, str]]:
    """The name and the relationship of each sheet that people see."""
    sheets: list[tuple[str, str]] = []
    for name, attributes in archive.starts(main):
        if name == "sheet" and attributes.get("state", "visible") != "visible":
            collector.leave_out(HiddenPart.SHEET, attributes.get("name", ""))
        elif name == "sheet":
            sheets.append((attributes.get("name", ""), xml.attribute(attributes, "id", "relationships")))
        elif name == "workbookPr":
            formats.is_from_1904 = attributes.get("date1904", "").lower() in ("1", "true")
    return sheets


@dataclass(slots=True)
class _Strings(Listener):
    all: list[str] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _is_text: bool = False
    _is_sound: bool = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "si":
            self._pieces = []
        elif name == "rPh":
            self._is_sound = True
        elif name == "t":
            self._is_text = not self._is_sound

    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif name == "rPh":
            self._is_sound = False
        elif name == "si":
            if len(self.all) >= MAX_STRINGS:
                raise UnreadableFileError(NoTextReason.LIMIT)
            self.all.append("".join(self._pieces)[:MAX_CELL_CHARS])

    def data(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)


@dataclass(slots=True)
class _Cells(Listener):
    collector: TextCollector
    strings: list[str]
    formats: Formats
    _count: int = 0
    _row: int = 0
    _column: int = 0
    _last_row: int = 0
    _last_column: int = 0
    _kind: str = ""
    _style: str = ""
    _is_value: bool = False
    _pieces: list[str] = field(default_factory=list)
    _sheet: str = ""
    _is_hidden_row: bool = False
    _hidden_columns: bytearray = field(default_factory=bytearray)

    def begin(self, sheet: str) -> None:
        """Start a new sheet."""
        self._sheet, self._is_hidden_row, self._hidden_columns = sheet, False, bytearray(_MAX_COLUMNS + 1)
        self._row = self._last_row = self._last_column = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "row":
            reference = attributes.get("r", "")
            self._row = int(reference) if reference.isdecimal() and len(reference) < 9 else self._row + 1
            self._column = 0
            self._is_hidden_row = _is_hidden(attributes, "ht")
        elif name == "sheetFormatPr" and not _is_visible(attributes.get("defaultColWidth", "1")):
            self._hidden_columns = bytearray(b"\1" * (_MAX_COLUMNS + 1))
        elif name == "col":
            first, last = (min(int(each), _MAX_COLUMNS) if each.isdecimal() and len(each) < 9 else 0 for each in _ends(attributes))
            self._hidden_columns[first : last + 1] = bytes([_is_hidden(attributes, "width")]) * max(last + 1 - first, 0)
        elif name == "c":
            self._column = _column(attributes.get("r", "")) or self._column + 1
            self._kind, self._style, self._pieces = attributes.get("t", "n"), attributes.get("s", ""), []
        elif name in ("v", "t"):
            self._is_value = True

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._is_value = False
        elif name == "c" and (text := self._text()):
            is_hidden = self._is_hidden_row or self._hidden_columns[min(self._column, _MAX_COLUMNS)]
            if is_hidden or self.formats.hides(self._style):
                self.collector.leave_out(HiddenPart.CELLS, self._sheet)
            else:
                self._put(text)

    def data(self, text: str) -> None:
        if self._is_value:
            self._pieces.append(text)

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

    def _text(self) -> str:
        raw = "".join(self._pieces)[:MAX_CELL_CHARS]
        if self._kind == "s":
            return self._string(raw)
        if self._kind == "b":
            return {"0": "FALSE", "1": "TRUE"}.get(raw, raw)
        if self._kind == "n":
            return self.formats.shown(raw, self._style)
        return " ".join(raw.split())

    def _string(self, number: str) -> str:
        at = int(number) if number.isdecimal() and len(number) < 9 else -1
        return " ".join(self.strings[at].split()) if 0 <= at < len(self.strings) else ""


def _is_hidden(attributes: Mapping[str, str], size: str) -> bool:
    """Whether a row or column is hidden, or is too low or narrow to be seen. ``size``: the name of its size."""
    return xml.is_on(attributes.get("hidden", "")) or not _is_visible(attributes.get(size, "1"))


def _is_visible(size: str) -> bool:
    """Whether a row of so many points, or a column of so many characters, can be seen."""
    try:
        return float(size) >= 1
    except ValueError:
        return False


def _ends(attributes: Mapping[str, str]) -> tuple[str, str]:
    return attributes.get("min", ""), attributes.get("max", "")


def _column(address: str) -> int:
    """The column number of a cell address: 28 for ``AB12``; 0 if there is none."""
    letters = re.match(r"[A-Z]{1,3}", address)
    number = 0
    for letter in letters[0] if letters else "":
        number = number * 26 + ord(letter) - 64
    return number if number <= _MAX_COLUMNS else 0
