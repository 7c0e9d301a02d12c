"""A count of SQL statements that two processes share: the server adds to it, the load reads it."""

from __future__ import annotations

import mmap
from pathlib import Path
from threading import Lock

_BYTES = 8


class StatementCount:
    """The count in that file, which is made where it is not there yet."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_BYTES))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _BYTES)
        self._lock = Lock()

    @property
    def value(self) -> int:
        """How many there have been."""
        return int.from_bytes(self._shared[:_BYTES], "little")

    def add(self) -> None:
        """One more."""
        with self._lock:
            self._shared[:_BYTES] = (self.value + 1).to_bytes(_BYTES, "little")
