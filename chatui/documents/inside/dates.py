"""Recognizes and formats dates and times in a workbook, which stores them as numbers of days since 1900 with a display format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta

_BUILT_IN = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_NO_CODES = re.compile(r'"[^"]*"|\\.|_.|\[[^\]]*\]')
"""Matches literal text, colours and conditions in a format."""
_CODES = re.compile(r"[dmyhs]", re.IGNORECASE)
_DAYS = 2_958_466
_FIRST = datetime(1899, 12, 30, tzinfo=UTC)
_FIRST_OF_1904 = datetime(1904, 1, 1, tzinfo=UTC)
_DECIMALS = re.compile(r"-?[0-9]{1,15}\.[0-9]{10,20}\Z")


@dataclass(slots=True)
class Formats:
    """A listener for the styles of a workbook. Afterwards, ``shown`` formats its numbers."""

    is_from_1904: bool = False
    _own: dict[str, bool] = field(default_factory=dict)
    _of_cells: list[str] = field(default_factory=list)
    _is_of_cells: bool = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Read a format."""
        if name == "numFmt":
            self._own[attributes.get("numFmtId", "")] = bool(_CODES.search(_NO_CODES.sub("", attributes.get("formatCode", ""))))
        elif name == "cellXfs":
            self._is_of_cells = True
        elif name == "xf" and self._is_of_cells:
            self._of_cells.append(attributes.get("numFmtId", ""))

    def end(self, name: str) -> None:
        """End the formats of cells. Those of named styles are ignored, because no cell uses them."""
        if name == "cellXfs":
            self._is_of_cells = False

    def data(self, text: str) -> None:
        """Ignored."""

    def shown(self, number: str, style: str) -> str:
        """A cell's number as text. ``style``: the cell's style index."""
        if self._is_date(style):
            return self._date(number)
        # The result of 0.1 + 0.2 is stored with all of its digits.
        return f"{float(number):.15g}" if _DECIMALS.match(number) else number

    def _is_date(self, style: str) -> bool:
        at = int(style) if style.isdecimal() and len(style) < 9 else 0
        name = self._of_cells[at] if at < len(self._of_cells) else ""
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
