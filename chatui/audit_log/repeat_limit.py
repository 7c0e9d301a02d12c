"""Limits how many audit lines a repeatable action can write: only the first ones in an hour are written, and the rest are counted."""

from __future__ import annotations

import logging

from chatui.audit_log.record import About, Visitor, record
from chatui.throttle import CACHE_ERRORS, Throttle

log = logging.getLogger(__name__)

WINDOW_SECONDS = 3600
COUNTED_AT = (100, 1000, 10_000)
"""When the count of a key within the window reaches one of these numbers, a line says so."""


class RepeatedAction:
    """A repeatable action, with at most ``listed`` lines an hour for each key, and ``in_all`` for all keys together."""

    def __init__(self, action: str, *, listed: int, in_all: int) -> None:
        self._action = action
        self._listed = listed
        self._most = in_all
        name = action.replace(" ", "-")
        self._by_key = Throttle(f"lines:{name}", attempts=listed, seconds=WINDOW_SECONDS)
        self._in_all = Throttle(f"all-lines:{name}", attempts=in_all, seconds=WINDOW_SECONDS)

    def record(self, visitor: Visitor, key: str, about: About = None, detail: str = "") -> None:
        """Write the line, or only count it. Repetitions are counted by ``key``. Raises a database error as ``record`` does."""
        try:
            words = self._words(key)
        except CACHE_ERRORS as error:
            log.warning("audit lines of %r cannot be counted, so all are written (%s)", self._action, type(error).__name__)
            words = ""
        if words is not None:
            record(self._action, visitor, about, detail=", ".join(filter(None, (detail, words))))

    def _words(self, key: str) -> str | None:
        """The text to add to the line; None if no line is to be written."""
        number = self._by_key.count(key)
        if number > self._listed + 1 and number not in COUNTED_AT:
            return None
        # Counted only if a line would be written, so that one person's repetitions cannot use up the limit for all.
        in_all = self._in_all.count()
        if in_all > self._most:
            return "further ones, of anybody, are not listed" if in_all == self._most + 1 else None
        if number in COUNTED_AT:
            return f"{number} times within the hour"
        return "" if number <= self._listed else "further ones are only counted"
