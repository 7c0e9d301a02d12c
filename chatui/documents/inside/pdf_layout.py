"""Puts the pieces of text of a PDF page into lines, columns and tables by their places.

A cell of a table that is empty stays empty: the text of each line is in the columns of those around it, with tabs between them. Columns of
running text are read one after the other.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from chatui.documents.inside.marks import Look, linked, spread
from chatui.documents.inside.pdf_page import DrawnText

_SPACE = 0.15
"""A gap of this share of the size is a space between words."""
_GAP = 1.0
"""A gap of this share of the size separates cells or columns."""
_APART_IN_TABLE = 0.3
"""A gap of this share of the size separates cells that are over different columns of other lines."""
_SAME_LINE = 0.35
_SMALL = 0.9
"""The largest size of raised text, of the size of the text before it."""
_APART = 1.9
"""Lines that are further apart than this share of the size have an empty line between them."""
_BLOCK = 3.0
"""Lines that are further apart than this do not belong to one table."""
_WORDS = 3
"""The least number of words in most lines of a column of running text."""
_MAX_COLUMNS = 60
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


@dataclass(slots=True)
class _Cell:
    """A stretch of a line without large gaps. ``order``: the place of its first piece among those of the page."""

    pieces: list[DrawnText]
    order: int
    text: str = ""

    @property
    def start(self) -> float:
        return self.pieces[0].start

    @property
    def end(self) -> float:
        return max(piece.end for piece in self.pieces)


@dataclass(slots=True)
class _Line:
    base: float
    size: float
    pieces: list[tuple[int, DrawnText]] = field(default_factory=list)
    cells: list[_Cell] = field(default_factory=list)


def text_of(pieces: Sequence[DrawnText]) -> str:
    """The text of a page. The direction in which most text runs comes first."""
    by_direction: dict[int, list[DrawnText]] = {}
    for piece in pieces:
        by_direction.setdefault(piece.direction, []).append(piece)
    groups = sorted(by_direction.items(), key=lambda group: (-sum(len(piece.text) for piece in group[1]), group[0]))
    return "\n\n".join(filter(None, (_text_of_direction(group) for _, group in groups)))


def _text_of_direction(pieces: list[DrawnText]) -> str:
    """The text of pieces that all run in one direction: their lines, block by block, with an empty line where the page has a wide gap."""
    _align_raised(pieces)
    output: list[str] = []
    last: _Line | None = None
    for block in _blocks(_lines(pieces)):
        if last is not None and last.base - block[0].base > _APART * max(last.size, block[0].size):
            output.append("")
        output += _written(block)
        last = block[-1]
    return "\n".join(output)


def _align_raised(pieces: list[DrawnText]) -> None:
    """Bring raised and lowered text to the line of the text that it follows or precedes."""
    for number, piece in enumerate(pieces):
        for other in pieces[max(number - 1, 0) : number] + pieces[number + 1 : number + 2]:
            shift = piece.base - other.base
            is_beside = min(abs(piece.start - other.end), abs(other.start - piece.end)) < 0.4 * other.size
            is_small = piece.size <= _SMALL * other.size and piece.text.strip()
            if is_beside and not other.level and 0.05 * other.size < abs(shift) < 0.75 * other.size and (is_small or piece.level):
                piece.level, piece.base = 1 if shift > 0 else -1, other.base
                break
        else:
            piece.level = 0


def _lines(pieces: list[DrawnText]) -> list[_Line]:
    lines: list[_Line] = []
    for number, piece in sorted(enumerate(pieces), key=lambda each: (-each[1].base, each[1].start)):
        if not piece.text.strip():
            continue
        # A line begins with its highest piece, so only the last ones can be this piece's.
        for line in lines[-1:]:
            if abs(line.base - piece.base) <= _SAME_LINE * min(line.size, piece.size):
                line.pieces.append((number, piece))
                line.size = max(line.size, piece.size)
                break
        else:
            lines.append(_Line(piece.base, piece.size, [(number, piece)]))
    for line in lines:
        line.pieces.sort(key=lambda each: each[1].start)
        _divide(line)
    return lines


def _divide(line: _Line) -> None:
    """Divide a line into cells, at large gaps."""
    for number, piece in line.pieces:
        if line.cells and piece.start - line.cells[-1].end <= _GAP * max(piece.size, line.cells[-1].pieces[-1].size):
            line.cells[-1].pieces.append(piece)
            line.cells[-1].order = min(line.cells[-1].order, number)
        else:
            line.cells.append(_Cell([piece], number))
    for cell in line.cells:
        cell.text = _cell_text(cell.pieces)


def _cell_text(pieces: list[DrawnText]) -> str:
    """The text of pieces beside each other, with spaces in the gaps, links, and signs for what is raised or struck out."""
    found: list[str] = []
    end, before = pieces[0].start, ""
    for (address, level, is_struck), group in itertools.groupby(pieces, lambda each: (each.address, each.level, each.is_struck)):
        words = ""
        for piece in group:
            has_gap = piece.start - end > _SPACE * piece.size and not piece.level
            words += " " * (has_gap and not before.endswith(" ") and not piece.text.startswith(" ") and bool(before)) + piece.text
            end, before = max(end, piece.end), piece.text
        found.append(linked(Look(level, is_struck).written(words), address))
    return _logical("".join(found)).strip()


def _logical(text: str) -> str:
    """Text as it is read: Hebrew and Arabic are drawn from left to right, with their last letter first."""
    if not any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text):
        return text
    parts = re.findall(r"[^\W_](?:[^\s]*[^\W_])?|\s+|[\W_]", text)
    is_right = [any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in part) for part in parts]
    rights = sum(len(part) for part, right in zip(parts, is_right, strict=True) if right)
    is_right_line = rights * 2 >= sum(len(part) for part in parts if part.strip())
    runs: list[tuple[bool, list[str]]] = []
    for part, right in zip(parts, is_right, strict=True):
        side = right or (is_right_line and not any(sign.isalnum() for sign in part))
        written = part[::-1].translate(_MIRRORED) if side else part
        if runs and runs[-1][0] == side:
            runs[-1][1].append(written)
        else:
            runs.append((side, [written]))
    pieces = ["".join(reversed(run) if side else run) for side, run in runs]
    return "".join(reversed(pieces) if is_right_line else pieces)


def _blocks(lines: list[_Line]) -> Iterable[list[_Line]]:
    """Lines that may be of one table or of columns side by side: all of several cells, or between such lines."""
    block: list[_Line] = []
    for line in lines:
        if block and block[-1].base - line.base > _BLOCK * max(block[-1].size, line.size):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _written(block: list[_Line]) -> list[str]:
    """The lines of a block: those of running text as they are, those from the first to the last one with several cells in columns."""
    several = [number for number, line in enumerate(block) if len(line.cells) > 1]
    if len(several) < 2 or len(block[several[0]].cells) > _MAX_COLUMNS:
        return _plain(block)
    first, last = several[0], several[-1] + 1
    columns = _columns(block[first:last])
    while first and _separate(block[first - 1], columns):
        first -= 1
    inside = block[first:last]
    if sum(_separate(line, columns) for line in inside) or first < several[0]:
        columns = _columns(inside)
    rows = [_row(line, columns) for line in inside]
    if (flowing := _flowing(rows)) is not None:
        return [*_plain(block[:first]), *flowing, *_plain(block[last:])]
    written = ["\t".join(cell for cells in _spread(row, len(columns)) for cell in cells) for row in rows]
    return [*_plain(block[:first]), *written, *_plain(block[last:])]


def _plain(lines: Sequence[_Line]) -> list[str]:
    output: list[str] = []
    for line, before in zip(lines, [None, *lines], strict=False):
        if before is not None and before.base - line.base > _APART * max(line.size, before.size):
            output.append("")
        output.append("\t".join(cell.text for cell in line.cells))
    return output


def _columns(lines: list[_Line]) -> list[list[float]]:
    """The columns of lines, each with its left and right end. Lines with more cells come first, as others may have cells over several."""
    columns: list[list[float]] = []
    for line in sorted(lines, key=lambda each: -len(each.cells)):
        for cell in line.cells:
            over = [column for column in columns if cell.start < column[1] and column[0] < cell.end]
            if len(over) == 1:
                over[0][:] = [min(over[0][0], cell.start), max(over[0][1], cell.end)]
            elif not over and len(columns) < _MAX_COLUMNS:
                near = min(columns, key=lambda column: _distance(cell, column), default=None)
                is_taken = near is None or any(other is not cell and _distance(other, near) == 0 for other in line.cells)
                if near is not None and not is_taken and _distance(cell, near) < 2 * line.size:
                    near[:] = [min(near[0], cell.start), max(near[1], cell.end)]
                else:
                    columns.append([cell.start, cell.end])
    return sorted(columns)


def _parts(cell: _Cell, gap: float) -> list[_Cell]:
    """A cell, divided where its pieces are further apart."""
    parts: list[list[DrawnText]] = []
    end = cell.start
    for piece in cell.pieces:
        if parts and piece.start - end <= gap:
            parts[-1].append(piece)
        else:
            parts.append([piece])
        end = max(end, piece.end)
    return [_Cell(pieces, cell.order, text) for pieces in parts if (text := _cell_text(pieces))]


def _separate(line: _Line, columns: list[list[float]]) -> bool:
    """Divide cells that are over several columns where their pieces stand apart, each over one column at most: narrow columns have small
    gaps. Returns whether there was one."""
    found: list[_Cell] = []
    for cell in line.cells:
        parts = _parts(cell, _APART_IN_TABLE * line.size)
        overs = [{n for n, column in enumerate(columns) if part.start < column[1] and column[0] < part.end} for part in parts]
        is_over_several = len(set().union(*overs)) > 1 and all(len(over) < 2 for over in overs) and len(parts) <= 2 * len(columns) + 1
        found += parts if is_over_several else [cell]
    is_divided = len(found) > len(line.cells)
    line.cells = found
    return is_divided


def _distance(cell: _Cell, column: list[float]) -> float:
    return max(0.0, column[0] - cell.end, cell.start - column[1])


_Row = list[tuple[int, int, _Cell]]
"""The cells of a line, each with the first and the last column that it is over."""


def _row(line: _Line, columns: list[list[float]]) -> _Row:
    row: _Row = []
    at = 0
    for cell in line.cells:
        over = [n for n, column in enumerate(columns) if cell.start < column[1] and column[0] < cell.end]
        first = over[0] if over else min(range(len(columns)), key=lambda n: _distance(cell, columns[n]))
        first = max(first, at)
        # A line alone from the left is a heading of the rows below it, or running text.
        last = first if len(line.cells) == 1 and first == 0 else max(first, over[-1] if over else first)
        row.append((first, last, cell))
        at = first + 1
    return row


def _spread(row: _Row, count: int) -> Iterable[list[str]]:
    """The text of each column. The text of a cell over several columns is in each of them; two cells in one column are both in it."""
    cells: list[list[str]] = [[] for _ in range(max(count, row[-1][0] + 1))]
    for number, (first, last, cell) in enumerate(row):
        following = row[number + 1][0] if number + 1 < len(row) else len(cells)
        for at, text in enumerate(spread(cell.text, max(1, min(last + 1, following) - first)), first):
            cells[at].append(text)
    yield [" ".join(cell) for cell in cells]


def _flowing(rows: list[_Row]) -> list[str] | None:
    """The lines of columns of running text, column after column; None for a table.

    Running text has several words in most of its lines, and goes on in the next one: either it is drawn column after column, or lines begin
    in the middle of a sentence.
    """
    count = max(last for row in rows for _, last, _ in row) + 1
    if count > 3 or any(first != last for row in rows for first, last, _ in row):
        return None
    columns = [[cell for row in rows for first, _, cell in row if first == at] for at in range(count)]
    for column in columns:
        lengths = sorted(len(cell.text.split()) if " " in cell.text else len(cell.text) // 4 for cell in column)
        if len(column) < 2 or lengths[len(lengths) // 2] < _WORDS:
            return None
    is_drawn_so = len(rows) > 2 and all(
        max(cell.order for cell in left) < min(cell.order for cell in right) for left, right in itertools.pairwise(columns)
    )
    following = [cell.text for column in columns for cell in column[1:]]
    goes_on = sum(text[:1].islower() for text in following) * 3 >= len(following)
    if not is_drawn_so and not goes_on:
        return None
    return [line for column in columns for line in ["", *(cell.text for cell in column)]][1:]
