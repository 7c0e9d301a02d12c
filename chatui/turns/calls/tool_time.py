"""The time that all tools of one turn may take together. It counts only while a tool runs, not while a person decides."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class ToolTime:
    """The limit of one turn. Tools that run at the same time use no more of it than one."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._running = 0
        self._began = 0.0

    @property
    def left(self) -> float:
        """The remaining seconds, at least 0."""
        measured = _now() - self._began if self._running > 0 else 0.0
        return max(0.0, self._left - measured)

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Count the time of the block, in which a tool runs."""
        self.goes_on()
        try:
            yield
        finally:
            self.pauses()

    def goes_on(self) -> None:
        """A tool begins to run, or goes on after it waited for the person."""
        if not self._running:
            self._began = _now()
        self._running += 1

    def pauses(self) -> None:
        """A tool ends, or begins to wait for the person."""
        self._running -= 1
        if not self._running:
            self._left -= _now() - self._began


def _now() -> float:
    return asyncio.get_running_loop().time()
