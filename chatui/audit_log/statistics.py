"""Counts audit lines by person, owner and day. A sum line counts as the attempts that it stands for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from django.db.models import CharField, Count, QuerySet
from django.db.models.functions import Cast, Substr

from chatui.audit_log import aggregation
from chatui.audit_log.aggregation import Attempts
from chatui.audit_log.lines import Filters, rows
from chatui.models import AuditEvent


@dataclass(frozen=True, slots=True)
class Tally:
    """A count of audit lines: how often (``times``) a person did something on a day about something that an owner (``whose``) has.

    ``day`` is in UTC, such as 2026-11-20; ``person`` is empty for people who were not signed in. A column that was not requested is None.
    """

    day: str | None
    person: str | None
    whose: str | None
    times: int


def tallies(filters: Filters, *, by: frozenset[str], most: int | None = None) -> list[Tally]:
    """Counts by ``person``, ``whose`` and ``day``, or some of them; the latest day first, then the highest count. At most ``most``."""
    names = [name for name in _GROUPINGS if name in by]
    found = _grouped(filters, names)
    times = Counter({tuple(group): number for *group, number in found.values_list(*names).annotate(times=Count("*")).order_by()})
    _add_repetitions(times, filters, names)
    tallies = [
        Tally(**{"day": None, "person": None, "whose": None} | dict(zip(names, group, strict=True)), times=number)
        for group, number in times.items()
        if number > 0
    ]
    tallies.sort(key=lambda tally: (-tally.times, tally.person or "", tally.whose or ""))
    tallies.sort(key=lambda tally: tally.day or "", reverse=True)
    return tallies[:most]


# The day is cut from the database's text form of the time: on SQLite, Django's truncation would call Python for each line.
_GROUPINGS = {
    "day": Substr(Cast("at", CharField()), 1, 10),
    "person": Cast("actor_name", CharField()),
    "whose": Cast("owner_name", CharField()),
}


def _add_repetitions(times: Counter[tuple[str, ...]], filters: Filters, names: list[str]) -> None:
    """Replace sum lines by the attempts that they stand for, on the day of the last one, and add the attempts in open counters."""
    # A sum line is written some time after its last attempt, so it may be later than the requested period.
    sums = _grouped(replace(filters, before=None), names).filter(code__gt="", detail__startswith=aggregation.SUM_PREFIX)
    for detail, at, *group in sums.values_list("detail", "at", *names).iterator():
        if filters.before is None or at < filters.before:
            times[tuple(group)] -= 1
        _add(times, dict(zip(names, group, strict=True)), aggregation.attempts_in(detail), filters)
    counting = aggregation.attempts_after()
    # Counters that are still open may have started before the requested period.
    first_lines = _grouped(replace(filters, since=None), names).filter(number__in=counting)
    for number, *group in first_lines.values_list("number", *names):
        _add(times, dict(zip(names, group, strict=True)), counting[number], filters)


def _grouped(filters: Filters, names: list[str]) -> QuerySet[AuditEvent]:
    return rows(filters).annotate(**{name: _GROUPINGS[name] for name in names})


def _add(times: Counter[tuple[str, ...]], group: dict[str, str], attempts: Attempts, filters: Filters) -> None:
    is_early = filters.since is not None and attempts.last_at < filters.since
    is_late = filters.before is not None and attempts.last_at >= filters.before
    if attempts.number and not is_early and not is_late:
        if "day" in group:
            group["day"] = f"{attempts.last_at:%Y-%m-%d}"
        times[tuple(group.values())] += attempts.number
