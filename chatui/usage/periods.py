"""The days and months of limits and of the ledger: calendar periods in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.utils import timezone


@dataclass(frozen=True, slots=True)
class Period:
    """A day with its month, which is named by its first day."""

    day: date

    @property
    def month(self) -> date:
        """The first day of the month."""
        return self.day.replace(day=1)

    @property
    def day_ends(self) -> datetime:
        """The midnight after the day."""
        return datetime.combine(self.day + timedelta(days=1), datetime.min.time(), UTC)

    @property
    def month_ends(self) -> datetime:
        """The midnight after the month."""
        return datetime.combine((self.month + timedelta(days=32)).replace(day=1), datetime.min.time(), UTC)


def of(moment: datetime) -> Period:
    """The period that contains a moment."""
    return Period(moment.astimezone(UTC).date())


def now() -> Period:
    """Today."""
    return of(timezone.now())
