"""Reads an XLS workbook of Excel 97 to 2003 sheet by sheet, with ``xlrd``, which is pure Python and opens nothing.

``xlrd`` does not read drawings: text boxes, charts and pictures are counted from the records of the workbook.
"""

from __future__ import annotations

import codecs
import importlib
import io
import struct
from collections.abc import Iterator
from typing import Any

from chatui.documents.inside import number_formats
from chatui.documents.inside.grid import MAX_CELL_CHARS, Grid, MergedCells
from chatui.documents.inside.marks import Look, mark
from chatui.documents.inside.sheets import printed_words
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing

_ENCODINGS = (
    "ascii latin_1 utf_16_le cp437 cp850 cp874 cp932 cp936 cp949 cp950 mac_roman",
    "cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258",
)
_VBA = "_VBA_PROJECT".encode("utf-16-le")
_RECORD_OF_OBJECT = 0x5D
_HEADERS = (0x14, 0x15)
"""Records of what printed pages have above and below the cells."""
_OBJECTS = {
    5: UnreadThing.CHART,
    6: UnreadThing.TEXT_BOX,
    7: UnreadThing.FIELD,
    8: UnreadThing.PICTURE,
    11: UnreadThing.FIELD,
    12: UnreadThing.FIELD,
    13: UnreadThing.FIELD,
}
"""Types of drawn objects. The others are shapes without text, comments, and the arrows of filters."""


def prepare(data: bytes) -> None:
    """Load everything that reading may need, because a confined process cannot."""
    for name in " ".join(_ENCODINGS).split():
        codecs.lookup(name)
    for name in ("xlrd", "xlrd.book", "xlrd.compdoc", "xlrd.formatting", "xlrd.formula", "xlrd.sheet", "xlrd.xldate"):
        importlib.import_module(name)


def read(data: bytes, collector: TextCollector) -> None:
    """Read each sheet that people see as one part."""
    import xlrd

    try:
        book = xlrd.open_workbook(file_contents=data, logfile=io.StringIO(), formatting_info=True, on_demand=True, ragged_rows=True)
    except xlrd.XLRDError as error:
        # It has no other sign of this.
        raise UnreadableFileError(NoTextReason.ENCRYPTED if "encrypted" in str(error) else NoTextReason.BROKEN) from None
    collector.count(UnreadThing.SCRIPT, _VBA in data)
    for kind in _things(bytes(book.mem[book.base : book.base + book.stream_len])):
        collector.count(kind)
    grid = Grid(collector)
    for number, name in enumerate(book.sheet_names()):
        sheet = book.sheet_by_index(number)
        if sheet.visibility:
            collector.leave_out(HiddenPart.SHEET, name)
        else:
            collector.places += 1
            grid.begin(name)
            _read_cells(book, sheet, grid)
            _read_around(sheet, grid)
            grid.write()
        book.unload_sheet(number)


def _read_cells(book: Any, sheet: Any, grid: Grid) -> None:
    for column, about in sheet.colinfo_map.items():
        grid.hide_columns(column + 1, column + 1, bool(about.hidden or not about.width))
    for row, about in sheet.rowinfo_map.items():
        if about.hidden:
            grid.hide_row(row + 1)
    for row, column, text, is_number in _cells(book, sheet):
        if not text:
            grid.leave_out()
        elif not grid.put(row + 1, column + 1, text, is_number):
            break


def _read_around(sheet: Any, grid: Grid) -> None:
    """Read what belongs to the cells but is not in them."""
    for (row, column), link in sheet.hyperlink_map.items():
        grid.link(row + 1, column + 1, link.url_or_path if isinstance(link.url_or_path, str) else "")
    for (row, column), note in sheet.cell_note_map.items():
        author = " ".join(note.author.split())
        if text := note.text.strip().removeprefix(f"{author}:"):
            grid.put(row + 1, column + 1, mark(f"Comment by {author}" if author else "Comment", text))
    grid.merge(MergedCells(top + 1, left + 1, bottom, right) for top, bottom, left, right in sheet.merged_cells)


def _cells(book: Any, sheet: Any) -> Iterator[tuple[int, int, str, bool]]:
    """Row and column from 0, text, and whether it is a number, of each cell that is not empty. The text is empty if its format shows
    nothing of it."""
    for row in range(sheet.nrows):
        for column in range(sheet.row_len(row)):
            cell = sheet.cell(row, column)
            if cell.ctype not in (_EMPTY, _BLANK) and cell.value != "":
                style = book.xf_list[cell.xf_index]
                struck = Look(is_struck=bool(book.font_list[style.font_index].struck_out))
                text = _shown(cell, book.format_map[style.format_key].format_str, is_from_1904=book.datemode == 1)
                yield row, column, struck.written(text), cell.ctype in (_NUMBER, _DATE)


_EMPTY, _TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR, _BLANK = range(7)
"""Types of cells, as ``xlrd`` numbers them."""


def _shown(cell: Any, code: str, is_from_1904: bool) -> str:
    import xlrd

    if cell.ctype == _BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == _ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, "#ERROR"))
    found = None if code.lower() in ("", "general", "standard") else number_formats.parsed(code)
    if cell.ctype == _TEXT:
        text = " ".join(str(cell.value).split())[:MAX_CELL_CHARS]
        return found.shown_text(text) if found else text
    return found.shown(cell.value, is_from_1904) if found else number_formats.general(cell.value)


def _things(records: bytes) -> Iterator[UnreadThing]:
    """What the records of a workbook have beside cells: each has a code, a length and its bytes."""
    at = 0
    while at + 4 <= len(records):
        code, length = struct.unpack_from("<HH", records, at)
        # The first part of an object's record is about it; its type is after the code and the length of that part.
        if code == _RECORD_OF_OBJECT and length >= 6 and at + 10 <= len(records):
            part, _, kind = struct.unpack_from("<HHH", records, at + 4)
            if part == 0x15 and kind in _OBJECTS:
                yield _OBJECTS[kind]
        elif code in _HEADERS and length > 3 and at + 4 + length <= len(records):
            is_wide = records[at + 6] & 1
            text = records[at + 7 : at + 4 + length].decode("utf-16-le" if is_wide else "latin-1", "replace")
            if printed_words([text]):
                yield UnreadThing.HEADER
        at += 4 + length
