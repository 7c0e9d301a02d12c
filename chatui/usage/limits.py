"""Loads the usage limits, finds those that apply to a person, and compares them with what the person has used and reserved.

Days and months, of limits and of the ledger, are calendar periods in UTC.
"""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass, field
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from django.utils import timezone

from chatui.codes import ProductCode
from chatui.models.usage import UsageCount, UsageLimit
from chatui.models.user import User

CACHE_SECONDS = 2.0
"""How long a process caches the limits: if there are none, a question needs no statement for them."""


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """How much somebody may use; None: unlimited."""

    day_tokens: int | None = None
    day_turns: int | None = None
    month_tokens: int | None = None
    month_turns: int | None = None

    def __bool__(self) -> bool:
        return self != _NONE


_NONE = UsageLimits()


@dataclass(slots=True)
class _Cache:
    at: float = float("-inf")
    by_group: dict[int | None, UsageLimits] = field(default_factory=dict)
    by_person: dict[UUID, UsageLimits] = field(default_factory=dict)


_cache = _Cache()


def limits_of(person: User) -> UsageLimits:
    """The person's own limits; otherwise the largest limits of their groups, separately for each kind; the limits for everybody if none of
    their groups has any.

    No statement if there are no limits at all, one more if groups have some.
    """
    _refresh()
    if person.pk in _cache.by_person:
        return _cache.by_person[person.pk]
    by_group = _cache.by_group
    named = [key for key in by_group if key is not None]
    own = list(person.groups.filter(pk__in=named).values_list("pk", flat=True)) if named else []
    if own:
        kinds = zip(*(astuple(by_group[key]) for key in own), strict=True)
        return UsageLimits(*(None if None in numbers else max(numbers) for numbers in kinds))
    return by_group.get(None, UsageLimits())


def clear_cache() -> None:
    """Make this process read the limits again at the next use. Other processes do so within CACHE_SECONDS."""
    _cache.at = float("-inf")


def _refresh() -> None:
    now = time.monotonic()
    if now - _cache.at < CACHE_SECONDS:
        return
    rows = UsageLimit.objects.values_list("person", "group", "day_tokens", "day_turns", "month_tokens", "month_turns")
    found = [(person, group, UsageLimits(*numbers)) for person, group, *numbers in rows]
    _cache.by_person = {person: limits for person, _group, limits in found if person is not None}
    _cache.by_group = {group: limits for person, group, limits in found if person is None}
    _cache.at = now


@dataclass(frozen=True, slots=True)
class Period:
    """A day with its month, which is named by its first day."""

    day: date

    @property
    def month(self) -> date:
        return self.day.replace(day=1)

    @property
    def day_ends(self) -> datetime:
        return datetime.combine(self.day + timedelta(days=1), datetime.min.time(), UTC)

    @property
    def month_ends(self) -> datetime:
        return datetime.combine((self.month + timedelta(days=32)).replace(day=1), datetime.min.time(), UTC)


def of(moment: datetime) -> Period:
    return Period(moment.astimezone(UTC).date())


def now() -> Period:
    """Today."""
    return of(timezone.now())


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
class LimitLine:
    """One limit and its usage, until ``until``."""

    code: ProductCode
    of: str
    used: int
    limit: int
    until: datetime

    @property
    def is_of_day(self) -> bool:
        return self.code is ProductCode.QUOTA_DAY

    @property
    def percent(self) -> int:
        return 100 if self.used >= self.limit else 100 * self.used // self.limit


def lines(limits: UsageLimits, used: Used, period: Period) -> list[LimitLine]:
    """The existing limits, each with its usage."""
    numbers = astuple(used)[:4]
    found = zip(_KINDS, numbers, astuple(limits), strict=True)
    return [
        LimitLine(code, of, count, limit, period.day_ends if code is ProductCode.QUOTA_DAY else period.month_ends)
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


def status_of(person: User) -> list[LimitLine]:
    """The limits of a person, for their page. Empty if they have none."""
    period = now()
    limits = limits_of(person)
    return lines(limits, used_by(person, period), period) if limits else []


def warning(limits: UsageLimits, used: Used, period: Period) -> LimitLine | None:
    """The limit to warn of with an accepted question: the one that is nearest; None below WARN_PERCENT."""
    near = [line for line in lines(limits, used, period) if line.percent >= WARN_PERCENT]
    return max(near, key=lambda line: (line.percent, line.until), default=None)


_KINDS = (
    (ProductCode.QUOTA_DAY, "tokens"),
    (ProductCode.QUOTA_DAY, "turns"),
    (ProductCode.QUOTA_MONTH, "tokens"),
    (ProductCode.QUOTA_MONTH, "turns"),
)
