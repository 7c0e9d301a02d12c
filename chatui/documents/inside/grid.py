"""Writes the cells of a sheet as lines separated by tabs, whatever kind of workbook they are from.

A cell keeps its column: an empty one before it is an empty place. A cell after a large gap is written with its row or column number, not
after a million empty cells. The text of a merged cell stands in each of its places; a number stands there once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, islice, product

from chatui.documents.inside.marks import linked
from chatui.documents.inside.text_collector import TextCollector, TextLimitError
from chatui.documents.kinds import HiddenPart
from chatui.documents.limits import MAX_CELLS

MAX_GAP = 50
"""The largest gap of empty cells or rows that is written out. Larger gaps are collapsed."""
MAX_CELL_CHARS = 32_767
MAX_COLUMNS = 16_384
MERGED = "[merged]"
"""Stands in the other places of a merged cell with a number, which counts once."""


@dataclass(frozen=True, slots=True)
class MergedCells:
    """The first and the last row and column, from 1."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class Grid:
    """The cells of the sheets of a workbook. For each sheet, call ``begin``, ``put`` its cells, then ``write``. What follows the cells of
    a sheet, such as its text boxes, is in ``after``. ``is_full``: a limit is reached."""

    collector: TextCollector
    after: list[str] = field(default_factory=list)
    is_full: bool = False
    _sheet: str = ""
    _cells: dict[tuple[int, int], str] = field(default_factory=dict)
    _numbers: set[tuple[int, int]] = field(default_factory=set)
    _hidden_rows: set[int] = field(default_factory=set)
    _hidden_columns: bytearray = field(default_factory=bytearray)
    _count: int = 0
    _chars: int = 0

    def begin(self, sheet: str) -> None:
        """Begin a sheet as a part of the text."""
        self.collector.begin(f"sheet {sheet}", is_place=True)
        self._sheet, self._hidden_columns = sheet, bytearray(MAX_COLUMNS + 1)
        for each in (self._cells, self._numbers, self._hidden_rows, self.after):
            each.clear()

    def hide_columns(self, first: int = 0, last: int = MAX_COLUMNS, is_hidden: bool = True) -> None:
        """Hide columns, or show them: from 1, both included."""
        first, last = min(first, MAX_COLUMNS), min(last, MAX_COLUMNS)
        self._hidden_columns[first : last + 1] = bytes([is_hidden]) * max(last + 1 - first, 0)

    def hide_row(self, row: int) -> None:
        self._hidden_rows.add(row)

    def is_hidden(self, row: int, column: int) -> bool:
        return row in self._hidden_rows or bool(self._hidden_columns[min(column, MAX_COLUMNS)])

    def leave_out(self) -> None:
        """Note that this sheet has something hidden."""
        self.collector.leave_out(HiddenPart.CELLS, self._sheet)

    def put(self, row: int, column: int, text: str, is_number: bool = False) -> bool:
        """Add to the text of a cell. Returns whether the workbook may have more of them. ``is_number``: the cell counts once if merged."""
        if not text or self.is_full:
            return not self.is_full
        if self.is_hidden(row, column):
            self.leave_out()
            return True
        place = row, column
        before = self._cells.get(place)
        if before is None:
            self._count += 1
            self._chars += len(text)
            self.is_full = self._count > MAX_CELLS or self._chars > self.collector.max_bytes
            if self.is_full:
                self.collector.is_cut = True
                return False
        if is_number:
            self._numbers.add(place)
        self._cells[place] = f"{before} {text}" if before else text
        return True

    def link(self, row: int, column: int, address: str) -> None:
        """Write the address of a link beside the text of its cell."""
        if address and (text := self._cells.get((row, column))) is not None:
            self._cells[row, column] = linked(text, address)

    def merge(self, areas: Iterable[MergedCells]) -> None:
        """Write the text of merged cells into all of their places that are shown."""
        cells_left = MAX_CELLS - self._count
        for area in areas:
            first = area.top, area.left
            text = self._cells.get(first)
            if text is None:
                continue
            words = MERGED if first in self._numbers else text.partition(" [Comment")[0]
            places = product(range(area.top, area.bottom + 1), range(area.left, area.right + 1))
            for place in islice(places, cells_left):
                cells_left -= 1
                self._chars += len(words)
                if self._chars > self.collector.max_bytes:
                    self.is_full = self.collector.is_cut = True
                    return
                if place != first and not self.is_hidden(*place):
                    # What lies below a merged cell is not shown by most programs, but read.
                    below = self._cells.get(place)
                    self._cells[place] = f"{words} [below it: {below}]" if below else words

    def write(self) -> None:
        """Write the sheet.

        Raises:
            TextLimitError: the workbook has too many cells, or too much text.
        """
        last_row = 0
        for row, places in groupby(sorted(self._cells), key=lambda place: place[0]):
            gap = row - last_row
            far = f"[row {row}]\n" if gap > MAX_GAP else ""
            line = ("\n" if last_row else "") + (far or "\n" * (gap - 1))
            last_row, last_column = row, 1
            for _, column in places:
                gap = column - last_column
                line += f"\t[column {column}]\t" if gap > MAX_GAP else "\t" * gap
                last_column = column
                line += self._cells[row, column]
            self.collector.put(line)
        if self.after:
            self.collector.put("\n" * bool(last_row) + "\n".join(self.after))
        if self.is_full:
            raise TextLimitError
