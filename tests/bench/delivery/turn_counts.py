"""Counts shared by two processes: the server increments them, the load reads them."""

import mmap
from pathlib import Path
from threading import Lock

NAMES = ("statements", "calls", "writes", "hand_overs")
_BYTES = 8


class TurnCounts:
    """The counts in that file, which is created if it does not exist."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_BYTES * len(NAMES)))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _BYTES * len(NAMES))
        self._lock = Lock()

    @property
    def values(self) -> dict[str, int]:
        """What was counted so far, by name."""
        return {name: self._value(name) for name in NAMES}

    def add(self, name: str) -> None:
        """Count one."""
        with self._lock:
            self.put(name, self._value(name) + 1)

    def put(self, name: str, value: int) -> None:
        """Replace a count that was taken elsewhere."""
        self._shared[self._place(name)] = value.to_bytes(_BYTES, "little")

    def _value(self, name: str) -> int:
        return int.from_bytes(self._shared[self._place(name)], "little")

    def _place(self, name: str) -> slice:
        start = NAMES.index(name) * _BYTES
        return slice(start, start + _BYTES)
