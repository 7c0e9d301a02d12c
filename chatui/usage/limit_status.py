"""A person's usage status: what they have used and reserved, compared with their limits."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from datetime import datetime

from chatui.codes import ProductCode
from chatui.models import UsageCount, User
from chatui.usage.limits import Limits, limits_of
from chatui.usage.periods import Period, now

WARN_PERCENT = 80
"""The percentage of a limit from which people see a warning."""


@dataclass(frozen=True, slots=True)
class Used:
    """The current usage.

    ``running``: how many answers are being written; they are included in ``day_turns`` and ``month_turns``, each as one turn.
    """

    day_tokens: int = 0
    day_turns: int = 0
    month_tokens: int = 0
    month_turns: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One limit and its usage, until ``until``."""

    code: ProductCode
    of: str
    used: int
    limit: int
    until: datetime

    @property
    def is_of_day(self) -> bool:
        """Whether it is a daily limit; otherwise it is monthly."""
        return self.code is ProductCode.QUOTA_DAY

    @property
    def percent(self) -> int:
        """The percentage used, at most 100."""
        return 100 if self.used >= self.limit else 100 * self.used // self.limit


@dataclass(frozen=True, slots=True)
class NearLimit:
    """A limit that is nearly reached: the percentage used, until ``until``."""

    percent: int
    until: datetime


def lines(limits: Limits, used: Used, period: Period) -> list[Line]:
    """The existing limits, each with its usage."""
    numbers = astuple(used)[:4]
    found = zip(_KINDS, numbers, astuple(limits), strict=True)
    return [
        Line(code, of, count, limit, period.day_ends if code is ProductCode.QUOTA_DAY else period.month_ends)
        for (code, of), count, limit in found
        if limit is not None
    ]


def used_by(person: User, period: Period) -> Used:
    """The person's usage so far. One statement."""
    row = UsageCount.objects.filter(person=person).first()
    if row is None:
        return Used()
    day, month = row.day >= period.day, row.month >= period.month
    return Used(
        day_tokens=row.day_tokens if day else 0,
        day_turns=(row.day_turns if day else 0) + row.reserved_turns,
        month_tokens=row.month_tokens if month else 0,
        month_turns=(row.month_turns if month else 0) + row.reserved_turns,
        running=row.reserved_turns,
    )


def status_of(person: User) -> list[Line]:
    """The limits of a person, for their page. Empty if they have none."""
    period = now()
    limits = limits_of(person)
    return lines(limits, used_by(person, period), period) if limits else []


def warning(limits: Limits, used: Used, period: Period) -> NearLimit | None:
    """The warning to show with an accepted question; None below WARN_PERCENT."""
    fullest = max(lines(limits, used, period), key=lambda line: (line.percent, line.until), default=None)
    if fullest is None or fullest.percent < WARN_PERCENT:
        return None
    return NearLimit(fullest.percent, fullest.until)


_KINDS = (
    (ProductCode.QUOTA_DAY, "tokens"),
    (ProductCode.QUOTA_DAY, "turns"),
    (ProductCode.QUOTA_MONTH, "tokens"),
    (ProductCode.QUOTA_MONTH, "turns"),
)
