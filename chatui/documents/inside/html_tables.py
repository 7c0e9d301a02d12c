"""The tables of a page: the columns of cells that are several columns or rows wide."""

from __future__ import annotations

from dataclasses import dataclass, field

from chatui.documents.inside.marks import spread

MAX_SPAN = 50
_MAX_ROWS = 10_000
_MAX_COLUMNS = 500


@dataclass(slots=True)
class HtmlTable:
    """An open table."""

    row: list[str] = field(default_factory=list)
    """The cells of the row that is being read."""
    below: dict[int, int] = field(default_factory=dict)
    """How many rows a cell above reaches down, by column."""
    is_in_row: bool = False

    def begin_row(self) -> None:
        self.row, self.is_in_row = [], True

    def add(self, text: str, columns: int, rows: int) -> None:
        """Add a cell. Below a cell that is several rows high, its columns stay empty."""
        self._skip()
        if len(self.row) >= _MAX_COLUMNS:
            self.row[-1] += f" {text}"
            return
        if rows > 1:
            self.below.update(dict.fromkeys(range(len(self.row), len(self.row) + columns), min(rows, _MAX_ROWS)))
        self.row += spread(text, columns)

    def _skip(self) -> None:
        while len(self.row) in self.below and self.below[len(self.row)] > 0:
            self.row.append("")

    def end_values(self) -> str:
        """The cells so far, before one that is a part of the page."""
        row, self.row = self.row, []
        return "\t".join(row) + "\n" if row else ""

    def end_row(self) -> str:
        """The row on one line; empty if it has no text."""
        self._skip()
        self.below = {column: rows - 1 for column, rows in self.below.items() if rows > 1}
        row, self.row, self.is_in_row = self.row, [], False
        return "\t".join(row) + "\n" if any(each.strip() for each in row) else ""
