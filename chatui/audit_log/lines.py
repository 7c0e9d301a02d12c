"""Filters the lines of the audit log and pages through them by number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from chatui.models import AuditEvent

PAGE_LINES = 50


@dataclass(frozen=True, slots=True)
class Filters:
    """Selects lines: by exact names, and by time from ``since`` to before ``before`` (UTC). Empty fields select everything."""

    person: str = ""
    whose: str = ""
    code: str = ""
    action: str = ""
    way: str = ""
    conversation: UUID | None = None
    since: datetime | None = None
    before: datetime | None = None

    def __str__(self) -> str:
        times = {"since": _minute(self.since), "before": _minute(self.before)}
        names = {"code": self.code, "action": self.action, "way": self.way, "conversation": str(self.conversation or "")}
        people = {"person": self.person, "whose": self.whose}
        return ", ".join(f"{name} {value}" for name, value in (times | names | people).items() if value) or "all lines"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log, as a page shows it."""

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


@dataclass(frozen=True, slots=True)
class Page:
    """Lines, the newest first. ``older`` and ``newer``: the line number from which the next page starts; None at the end."""

    lines: tuple[Line, ...]
    older: int | None
    newer: int | None


def rows(filters: Filters) -> QuerySet[AuditEvent]:
    """The rows that match a filter, in no particular order."""
    conditions = {
        "actor_name": filters.person,
        "owner_name": filters.whose,
        "code": filters.code,
        "action": filters.action,
        "way": filters.way,
        "conversation_id": filters.conversation,
        "at__gte": filters.since,
        "at__lt": filters.before,
    }
    return AuditEvent.objects.filter(**{name: value for name, value in conditions.items() if value})


def page(filters: Filters, *, below: int | None = None, above: int | None = None) -> Page:
    """The newest lines, the next ones below a number (older), or the next ones above a number (newer)."""
    found = rows(filters).values_list(*Line.__slots__)
    if above is not None:
        taken = list(found.filter(number__gt=above).order_by("number")[: PAGE_LINES + 1])
        lines = tuple(Line(*row) for row in reversed(taken[:PAGE_LINES]))
        return Page(lines, lines[-1].number if lines else None, lines[0].number if len(taken) > PAGE_LINES else None)
    if below is not None:
        found = found.filter(number__lt=below)
    taken = list(found.order_by("-number")[: PAGE_LINES + 1])
    lines = tuple(Line(*row) for row in taken[:PAGE_LINES])
    is_first = below is None or not lines
    return Page(lines, lines[-1].number if len(taken) > PAGE_LINES else None, None if is_first else lines[0].number)


def named(column: str) -> list[str]:
    """Every distinct value of a column, in order. One index lookup for each value, however many lines have it."""
    return list(_values(column))


def _values(column: str) -> Iterator[str]:
    found: list[str] = list(AuditEvent.objects.order_by(column).values_list(column, flat=True)[:1])
    while found:
        yield found[0]
        found = list(AuditEvent.objects.filter(**{f"{column}__gt": found[0]}).order_by(column).values_list(column, flat=True)[:1])


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
