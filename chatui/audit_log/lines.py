"""Filters the lines of the audit log and pages through them by number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from chatui.audit_log import aggregation
from chatui.models import AuditEvent

PAGE_LINES = 50


@dataclass(frozen=True, slots=True)
class Filters:
    """Selects lines whose columns equal these values, and whose time is in the period from ``since`` until before ``before`` (UTC).

    Empty fields select everything. ``except_ways`` excludes lines with one of these ways. ``person`` and ``whose`` are names of accounts;
    ``actor`` is an account's key.
    """

    person: str = ""
    whose: str = ""
    code: str = ""
    action: str = ""
    way: str = ""
    conversation: UUID | None = None
    since: datetime | None = None
    before: datetime | None = None
    except_ways: tuple[str, ...] = ()
    actor: UUID | None = None

    def __str__(self) -> str:
        times = {"since": _minute(self.since), "before": _minute(self.before)}
        names = {"code": self.code, "action": self.action, "way": self.way, "conversation": str(self.conversation or "")}
        people = {"person": self.person, "whose": self.whose}
        return ", ".join(f"{name} {value}" for name, value in (times | names | people).items() if value) or "all lines"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the log, as a page shows it.

    ``sum``: the counts of repetitions after it, in words. ``sum_number``: the number of the sum line (None while counting continues).
    """

    number: int
    at: datetime
    code: str
    action: str
    way: str
    actor_name: str
    conversation_id: UUID | None
    owner_name: str
    address: str
    detail: str
    sum: str = ""
    sum_number: int | None = None


_COLUMNS = tuple(field.name for field in fields(Line))[:-2]


@dataclass(frozen=True, slots=True)
class Page:
    """Lines, the newest first. ``older`` and ``newer``: the line number from which the adjacent page starts; None if there is none."""

    lines: tuple[Line, ...]
    older: int | None
    newer: int | None


def rows(filters: Filters) -> QuerySet[AuditEvent]:
    """The rows that match a filter, unordered."""
    conditions = {
        "actor_name": filters.person,
        "owner_name": filters.whose,
        "code": filters.code,
        "action": filters.action,
        "way": filters.way,
        "conversation_id": filters.conversation,
        "at__gte": filters.since,
        "at__lt": filters.before,
        "actor_id": filters.actor,
    }
    return AuditEvent.objects.filter(**{name: value for name, value in conditions.items() if value}).exclude(way__in=filters.except_ways)


def page(filters: Filters, *, below: int | None = None, above: int | None = None) -> Page:
    """The newest lines, or those next below a number (older), or those next above a number (newer).

    If the filter matches both a first line and its sum line, the sum is shown with the first line and not as a line of its own.
    """
    found = rows(filters).values_list(*_COLUMNS)
    if above is not None:
        taken = list(found.filter(number__gt=above).order_by("number")[: PAGE_LINES + 1])
        lines = tuple(Line(*row) for row in reversed(taken[:PAGE_LINES]))
        return Page(_folded(filters, lines), lines[-1].number if lines else None, lines[0].number if len(taken) > PAGE_LINES else None)
    if below is not None:
        found = found.filter(number__lt=below)
    taken = list(found.order_by("-number")[: PAGE_LINES + 1])
    lines = tuple(Line(*row) for row in taken[:PAGE_LINES])
    is_first = below is None or not lines
    older = lines[-1].number if len(taken) > PAGE_LINES else None
    return Page(_folded(filters, lines), older, None if is_first else lines[0].number)


def _folded(filters: Filters, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    sums = aggregation.sum_lines_among(line.number for line in lines)
    first_lines = set(rows(filters).filter(number__in=sums.values()).values_list("number", flat=True))
    # The table of counters can be changed, but the lines cannot. So two lines are joined only if the sum line's text names the first line.
    remaining = [
        line for line in lines if sums.get(line.number) not in first_lines or not aggregation.is_sum_of(line.detail, sums[line.number])
    ]
    remaining = remaining or list(lines)  # a page of nothing but sums would look like the end of the log
    counts_after = aggregation.counts_after(line.number for line in remaining)
    return tuple(_with_sum(line, *counts_after[line.number]) if line.number in counts_after else line for line in remaining)


def _with_sum(line: Line, words: str, number: int | None) -> Line:
    """The line with its sum. The day of the last repetition is omitted if it is the day of the line."""
    return replace(line, sum=words.replace(f"last {line.at:%Y-%m-%d} ", "last "), sum_number=number)


def distinct_values(column: str) -> list[str]:
    """Every distinct value of a column, in order, with one index lookup for each value, however many lines have it."""
    return list(_values(column))


def _values(column: str) -> Iterator[str]:
    found: list[str] = list(AuditEvent.objects.order_by(column).values_list(column, flat=True)[:1])
    while found:
        yield found[0]
        found = list(AuditEvent.objects.filter(**{f"{column}__gt": found[0]}).order_by(column).values_list(column, flat=True)[:1])


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
