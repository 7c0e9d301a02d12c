"""Limits how many lines of the audit log a repeatable action can write in an hour."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from chatui.audit_log.record import About, Visitor, record
from chatui.limits import CACHE_ERRORS, Throttle

log = logging.getLogger(__name__)

WINDOW_SECONDS = 3600
REPORTED_COUNTS = (100, 1000, 10_000)


@dataclass(frozen=True, slots=True)
class RepeatedAction:
    """A repeatable action, of which only so many lines are written in an hour."""

    action: str
    per_key: int
    """The most lines for each key."""
    total: int
    """The most lines for all keys together."""
    over: str = "further ones are only counted"
    """What the one line says that is written beyond the limit of a key."""
    over_all: str = "further ones, of anybody, are not listed"
    """What the one line says that is written beyond the limit of all keys."""
    reported: tuple[int, ...] = REPORTED_COUNTS
    """Which counts of a key get a line."""

    def record(self, visitor: Visitor, key: str, about: About = None, detail: str = "", **columns: str) -> None:
        """Write the line, or only count it. Repetitions are counted by ``key``. ``columns``: another action, or a code.

        Raises a database error as ``record`` does.
        """
        try:
            words = self._suffix(key)
        except CACHE_ERRORS as error:
            log.warning("audit lines of %r cannot be counted, so all are written (%s)", self.action, type(error).__name__)
            words = ""
        if words is not None:
            columns = {"action": self.action, "detail": ", ".join(filter(None, (detail, words)))} | columns
            record(columns.pop("action"), visitor, about, **columns)

    def _suffix(self, key: str) -> str | None:
        """The text to add to the line; None if no line is to be written."""
        name = self.action.replace(" ", "-")
        number, _ = Throttle(f"lines:{name}", self.per_key, WINDOW_SECONDS).count(key)
        if number > self.per_key + 1 and number not in self.reported:
            return None
        # Counted only if a line would be written, so that one person's repetitions cannot use up the limit for all.
        in_total, _ = Throttle(f"all-lines:{name}", self.total, WINDOW_SECONDS).count()
        if in_total > self.total:
            return self.over_all if in_total == self.total + 1 else None
        if number in self.reported:
            return f"{number} times within the hour"
        return "" if number <= self.per_key else self.over
