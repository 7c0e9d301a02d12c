"""Limits how many audit lines a repeatable action can write: only the first ones in an hour are written, and the rest are counted."""

from __future__ import annotations

import logging

from chatui.audit_log.record import About, Visitor, record
from chatui.throttle import CACHE_ERRORS, Throttle

log = logging.getLogger(__name__)

WINDOW_SECONDS = 3600
REPORTED_COUNTS = (100, 1000, 10_000)
"""When the count of a key within the window reaches one of these numbers, a line says so."""


class RepeatedAction:
    """A repeatable action, with at most ``per_key`` lines an hour for each key, and ``total`` for all keys together."""

    def __init__(self, action: str, *, per_key: int, total: int) -> None:
        self._action = action
        self._max_per_key = per_key
        self._max_in_total = total
        name = action.replace(" ", "-")
        self._by_key = Throttle(f"lines:{name}", attempts=per_key, seconds=WINDOW_SECONDS)
        self._by_all = Throttle(f"all-lines:{name}", attempts=total, seconds=WINDOW_SECONDS)

    def record(self, visitor: Visitor, key: str, about: About = None, detail: str = "") -> None:
        """Write the line, or only count it. Repetitions are counted by ``key``. Raises a database error as ``record`` does."""
        try:
            words = self._suffix(key)
        except CACHE_ERRORS as error:
            log.warning("audit lines of %r cannot be counted, so all are written (%s)", self._action, type(error).__name__)
            words = ""
        if words is not None:
            record(self._action, visitor, about, detail=", ".join(filter(None, (detail, words))))

    def _suffix(self, key: str) -> str | None:
        """The text to add to the line; None if no line is to be written."""
        number = self._by_key.count(key)
        if number > self._max_per_key + 1 and number not in REPORTED_COUNTS:
            return None
        # Counted only if a line would be written, so that one person's repetitions cannot use up the limit for all.
        in_total = self._by_all.count()
        if in_total > self._max_in_total:
            return "further ones, of anybody, are not listed" if in_total == self._max_in_total + 1 else None
        if number in REPORTED_COUNTS:
            return f"{number} times within the hour"
        return "" if number <= self._max_per_key else "further ones are only counted"
