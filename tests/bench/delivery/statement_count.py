"""A count of SQL statements shared by two processes: the server increments it, the load reads it."""

import mmap
from pathlib import Path
from threading import Lock

_BYTES = 8


class StatementCount:
    """The count in that file, which is created if it does not exist."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_BYTES))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _BYTES)
        self._lock = Lock()

    @property
    def value(self) -> int:
        """The number of statements so far."""
        return int.from_bytes(self._shared[:_BYTES], "little")

    def add(self) -> None:
        """Count one statement."""
        with self._lock:
            self._shared[:_BYTES] = (self.value + 1).to_bytes(_BYTES, "little")
