"""Converts positions in a text stream into byte offset, line and column."""

from __future__ import annotations

from renderer.errors import Location


class Cursor:
    """Converts positions in the buffer to offset, line and column. Positions must be requested in ascending order, because each character
    is counted only once.
    """

    def __init__(self) -> None:
        self._offset, self._line, self._column = 0, 1, 1
        self._mark = 0
        self._buffer = ""
        self._is_ascii = True

    def begin(self, buffer: str) -> None:
        """Continue with ``buffer``, which begins where counting stopped in the previous one."""
        self._buffer, self._mark, self._is_ascii = buffer, 0, buffer.isascii()

    def move(self, position: int) -> None:
        """Count up to ``position`` in the buffer."""
        mark, buffer = self._mark, self._buffer
        if position <= mark:
            return
        if buffer.count("\n", mark, position):
            self._line += buffer.count("\n", mark, position)
            self._column = position - buffer.rfind("\n", mark, position)
        else:
            self._column += position - mark
        self._offset += position - mark if self._is_ascii else len(buffer[mark:position].encode("utf-8"))
        self._mark = position

    def skip_byte_order_mark(self) -> None:
        """Count a byte order mark: three bytes, no column."""
        self._offset += 3

    def location(self, position: int, frame: int) -> Location:
        """The offset, line and column of ``position`` in the buffer; ``frame`` is the index of the frame there."""
        self.move(position)
        return self.here(frame)

    def here(self, frame: int) -> Location:
        """The offset, line and column where counting has stopped."""
        return Location(self._offset, self._line, self._column, frame)


def location_after(location: Location, text: str) -> Location:
    """The location directly after ``text``, which begins at ``location``."""
    lines = text.count("\n")
    column = len(text) - text.rfind("\n") if lines else location.column + len(text)
    return Location(location.offset + len(text.encode("utf-8")), location.line + lines, column, location.frame)
