"""The columns of a table in an RTF document, which says of each row only how far to the right its cells reach."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from chatui.documents.inside.marks import spread

MAX_COLUMNS = 200
MAX_ROWS = 2000
"""So many rows of a table are held, to find its columns."""
_SAME_EDGE = 20
"""The greatest distance of edges that are one, in twentieths of a point."""


@dataclass(slots=True)
class RtfTable:
    """The rows of an open table. A cell is as many columns wide as the edges of all rows have between its own."""

    rows: list[tuple[list[str], list[int]]] = field(default_factory=list)
    edges: list[int] = field(default_factory=lambda: [0])
    """Where the first cell of the row that is being read begins and where each ends, in twentieths of a point."""
    continuing: set[int] = field(default_factory=set)
    """The cells that continue the one to their left."""

    def begin_row(self) -> None:
        self.edges, self.continuing = [0], set()

    def add_row(self, cells: list[str]) -> None:
        """End a row. A cell that continues another one has no text of its own."""
        edges, texts = self.edges[:1], list[str]()
        for at, cell in enumerate(cells):
            end = self.edges[at + 1] if at + 1 < len(self.edges) else edges[-1] + 1
            if at in self.continuing and texts:
                edges[-1] = max(end, edges[-1])
                texts[-1] += cell
            else:
                texts.append(cell)
                edges.append(max(end, edges[-1]))
        self.rows.append((texts, edges))

    def written(self) -> str:
        """The rows, and their cells in the columns of the whole table."""
        grid = list[int]()
        for edge in sorted({edge for _, edges in self.rows for edge in edges}):
            if not grid or edge - grid[-1] > _SAME_EDGE:
                grid.append(edge)
        at = {edge: bisect_right(grid, edge) for _, edges in self.rows for edge in edges}
        is_wide = len(grid) > MAX_COLUMNS
        lines = []
        for cells, edges in self.rows:
            row = [""] * (0 if is_wide else at[edges[0]] - 1)
            for cell, left, right in zip(cells, edges, edges[1:], strict=False):
                row += spread(cell, 1 if is_wide else max(at[right] - at[left], 1))
            lines.append("\t".join(row) + "\n")
        return "".join(lines)
