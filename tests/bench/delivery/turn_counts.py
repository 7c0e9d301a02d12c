"""Counts shared by two processes: the server increments them, the load reads them. To count one takes few calls, for calls are counted."""

import mmap
from pathlib import Path
from threading import Lock

NAMES = ("statements", "calls", "writes", "hand_overs")
_PLACES = {name: place for place, name in enumerate(NAMES)}
_BYTES = 8


class TurnCounts:
    """The counts in that file, which is created if it does not exist."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_BYTES * len(NAMES)))
        with path.open("r+b") as file:
            self._shared = memoryview(mmap.mmap(file.fileno(), _BYTES * len(NAMES))).cast("Q")
        self._lock = Lock()

    @property
    def values(self) -> dict[str, int]:
        """What was counted so far, by name."""
        return dict(zip(NAMES, self._shared, strict=True))

    def add(self, name: str) -> None:
        """Count one."""
        with self._lock:
            self._shared[_PLACES[name]] += 1

    def put(self, name: str, value: int) -> None:
        """Replace a count that was taken elsewhere."""
        self._shared[_PLACES[name]] = value
