"""Loads the usage limits, finds those that apply to a person, and compares them with what the person has used and reserved.

Days and months, of limits and of the ledger, are calendar periods in UTC.
"""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass, field
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from django.db.models import Count, F, Q, Sum
from django.utils import timezone

from chatui.codes import ProductCode
from chatui.database.connections import as_uuid
from chatui.database.statements import query
from chatui.models.turn import Turn, TurnState
from chatui.models.usage import UsageCount, UsageEntry
from chatui.models.user import User

KINDS = (("day", "tokens"), ("day", "turns"), ("month", "tokens"), ("month", "turns"))
"""What is limited. Limits and counts have a column for each, such as ``day_tokens``."""
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
    oldest: int = 0


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


def oldest() -> int:
    """The key of the oldest limit; 0 if there are none, and nothing needs to be counted."""
    _refresh()
    return _cache.oldest


def clear_cache() -> None:
    """Make this process read the limits again at the next use. Other processes do so within CACHE_SECONDS."""
    _cache.at = float("-inf")


def _refresh() -> None:
    now = time.monotonic()
    if now - _cache.at < CACHE_SECONDS:
        return
    rows = query("SELECT id, person_id, group_id, day_tokens, day_turns, month_tokens, month_turns FROM chatui_usagelimit")
    found = [(person, group, UsageLimits(*numbers)) for _key, person, group, *numbers in rows]
    _cache.by_person = {as_uuid(person): limits for person, _group, limits in found if person is not None}
    _cache.by_group = {group: limits for person, group, limits in found if person is None}
    _cache.oldest = min((key for key, *_ in rows), default=0)
    _cache.at = now


@dataclass(frozen=True, slots=True)
class UsagePeriod:
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


def of(moment: datetime) -> UsagePeriod:
    return UsagePeriod(moment.astimezone(UTC).date())


def now() -> UsagePeriod:
    """Today."""
    return of(timezone.now())


WARN_PERCENT = 80
"""The percentage of a limit from which people see a warning."""


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


def lines(person: User, limits: UsageLimits, period: UsagePeriod) -> list[LimitLine]:
    """The existing limits, each with the person's usage so far: answers that are being written count as one turn each. One statement, and
    two more if nothing of the person has been counted today."""
    row = UsageCount.objects.filter(person=person, day=period.day, since=oldest()).first() or counted(person, period)
    shown = []
    for span, what in KINDS:
        limit = getattr(limits, f"{span}_{what}")
        if limit is not None:
            running = row.reserved_turns if what == "turns" else 0
            code, until = (ProductCode.QUOTA_DAY, period.day_ends) if span == "day" else (ProductCode.QUOTA_MONTH, period.month_ends)
            shown.append(LimitLine(code, what, getattr(row, f"{span}_{what}") + running, limit, until))
    return shown


def counted(person: User, period: UsagePeriod) -> UsageCount:
    """What the person has used and reserved, counted anew from the ledger and from their running turns. Two statements, and no row."""
    tokens, is_of_day = F("input_tokens") + F("output_tokens"), Q(day=period.day)
    used = UsageEntry.objects.filter(person=person, day__gte=period.month, day__lt=period.month_ends.date()).aggregate(
        day_tokens=Sum(tokens, filter=is_of_day, default=0),
        day_turns=Sum("turns", filter=is_of_day, default=0),
        month_tokens=Sum(tokens, default=0),
        month_turns=Sum("turns", default=0),
    )
    running = Turn.objects.filter(asked_by=person, state=TurnState.RUNNING, reserved_tokens__isnull=False)
    reserved = running.aggregate(reserved_turns=Count("pk"), reserved_tokens=Sum("reserved_tokens", default=0))
    return UsageCount(person=person, day=period.day, month=period.month, since=oldest(), **used, **reserved)


def status_of(person: User) -> list[LimitLine]:
    """The limits of a person, for their page. Empty if they have none."""
    limits = limits_of(person)
    return lines(person, limits, now()) if limits else []


def warning(person: User, limits: UsageLimits, period: UsagePeriod) -> LimitLine | None:
    """The limit to warn of with an accepted question: the one that is nearest; None below WARN_PERCENT."""
    near = [line for line in lines(person, limits, period) if line.percent >= WARN_PERCENT]
    return max(near, key=lambda line: (line.percent, line.until), default=None)
