"""Reads the audit log: filters and pages through its lines, exports them, and lists and counts what they record.

Lines are paged by number. They are exported as JSON lines, with all hashed fields, or as CSV for spreadsheets. Debug views are listed with
what was viewed in each. Lines are counted by person, owner and day, where a sum line counts as the attempts that it stands for.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from io import StringIO
from uuid import UUID

from django.db.models import CharField, Count, QuerySet
from django.db.models.functions import Cast, Substr

from chatui.audit_log import aggregation, words
from chatui.audit_log.aggregation import RepeatedAttempts
from chatui.audit_log.record import HASHED_COLUMNS
from chatui.models.audit import AuditEvent, CountedLine

PAGE_LINES = 50


def filters_in_words(filters: object, names: Iterable[str]) -> str:
    """The filters that select something, in words for the audit log: times to the minute."""
    values = {name: getattr(filters, name) for name in names}
    shown = {name: f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else value for name, value in values.items() if value}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


@dataclass(frozen=True, slots=True)
class LineFilters:
    """Selects lines. Empty fields select everything; lines that are selected have these values in the columns of these names."""

    person: str = ""
    """The name of an account."""
    whose: str = ""
    """The name of an account."""
    code: str = ""
    action: str = ""
    way: str = ""
    conversation: UUID | None = None
    since: datetime | None = None
    """The beginning of the period (UTC)."""
    before: datetime | None = None
    """The end of the period, which is not part of it (UTC)."""
    except_ways: tuple[str, ...] = ()
    """Leaves out lines with one of these ways."""
    actor: UUID | None = None
    """An account's key."""

    def __str__(self) -> str:
        names = ("since", "before", "code", "action", "way", "conversation", "person", "whose")
        return filters_in_words(self, names) or "all lines"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log, as a page shows it."""

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
    """The counts of repetitions after it, in words."""
    sum_number: int | None = None
    """The number of the sum line; None while counting continues."""

    @property
    def action_in_words(self) -> str:
        """The action in the language of the page, like the others below."""
        return words.action_in_words(self.action)

    @property
    def detail_in_words(self) -> str:
        return words.detail_in_words(self.detail)

    @property
    def way_in_words(self) -> str:
        return words.way_in_words(self.way)

    @property
    def sum_in_words(self) -> str:
        return words.counts_in_words(self.sum)


_COLUMNS = tuple(field.name for field in fields(LogLine))[:-2]


@dataclass(frozen=True, slots=True)
class LinePage:
    """Lines, the newest first."""

    lines: tuple[LogLine, ...]
    older: int | None
    """The number of the line with which the page of older ones begins; None if there is none."""
    newer: int | None
    """The number of the line with which the page of newer ones begins; None if there is none."""


def rows(filters: LineFilters) -> QuerySet[AuditEvent]:
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


def page(filters: LineFilters, *, below: int | None = None, above: int | None = None) -> LinePage:
    """The newest lines, or those next below a number (older), or those next above a number (newer).

    If the filter matches both a first line and its sum line, the sum is shown with the first line and not as a line of its own.
    """
    return _page(filters, rows(filters), below, above)


def _page(filters: LineFilters, found: QuerySet[AuditEvent], below: int | None, above: int | None = None) -> LinePage:
    if above is not None:
        found = found.filter(number__gt=above).order_by("number")
    else:
        found = (found if below is None else found.filter(number__lt=below)).order_by("-number")
    taken = [LogLine(*row) for row in found.values_list(*_COLUMNS)[: PAGE_LINES + 1]]
    lines, has_more = tuple(sorted(taken[:PAGE_LINES], key=lambda line: -line.number)), len(taken) > PAGE_LINES
    has_older, has_newer = (True, has_more) if above is not None else (has_more, below is not None)
    older, newer = (lines[-1].number if lines and has_older else None), (lines[0].number if lines and has_newer else None)
    return LinePage(_folded(filters, lines), older, newer)


def _folded(filters: LineFilters, lines: tuple[LogLine, ...]) -> tuple[LogLine, ...]:
    sums = aggregation.sum_lines_among(line.number for line in lines)
    first_lines = set(rows(filters).filter(number__in=sums.values()).values_list("number", flat=True))
    # The table of counters can be changed, but the lines cannot. So two lines are joined only if the sum line's text names the first line.
    remaining = [
        line for line in lines if sums.get(line.number) not in first_lines or not aggregation.is_sum_of(line.detail, sums[line.number])
    ]
    remaining = remaining or list(lines)  # a page of nothing but sums would look like the end of the log
    sums_of = aggregation.sums_of(line.number for line in remaining)
    return tuple(_with_sum(line, *sums_of[line.number]) if line.number in sums_of else line for line in remaining)


def _with_sum(line: LogLine, counts: str, number: int | None) -> LogLine:
    """The line with its sum. The day of the last repetition is omitted if it is the day of the line."""
    return replace(line, sum=counts.replace(f"last {line.at:%Y-%m-%d} ", "last "), sum_number=number)


def distinct_values(column: str) -> list[str]:
    """Every distinct value of a column, in order, with one index lookup for each value, however many lines have it."""
    values: list[str] = []
    rows = AuditEvent.objects.order_by(column).values_list(column, flat=True)
    while (value := rows.filter(**{f"{column}__gt": values[-1]} if values else {}).first()) is not None:
        values.append(value)
    return values


_CHUNK = 2000
_NAMES = (*HASHED_COLUMNS, "hash")
# Characters that start a formula in a spreadsheet, including full-width ones.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def json_lines(filters: LineFilters) -> Iterator[str]:
    """A JSON object for each line of the log, oldest first, each followed by a line break. Times are ISO 8601 with the UTC offset."""
    for row in _rows(filters):
        yield json.dumps(dict(zip(_NAMES, map(_plain, row), strict=True)), ensure_ascii=False) + "\n"


def csv_lines(filters: LineFilters) -> Iterator[str]:
    """A row of column names, then a row for each line of the log, oldest first (RFC 4180). No cell is a formula."""
    yield csv_row(_NAMES)
    for row in _rows(filters):
        yield csv_row([safe_cell(_plain(value)) for value in row])


FORMATS: dict[str, Callable[[LineFilters], Iterator[str]]] = {"jsonl": json_lines, "csv": csv_lines}


def _rows(filters: LineFilters) -> Iterator[tuple[object, ...]]:
    return rows(filters).order_by("number").values_list(*_NAMES).iterator(chunk_size=_CHUNK)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def safe_cell(value: object) -> object:
    """The value, with an apostrophe before it if a spreadsheet would read it as a formula."""
    # People choose their names and reasons: "=HYPERLINK(…)" must not become active in an auditor's spreadsheet.
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA) else value


def csv_row(values: object) -> str:
    """A line of a CSV file (RFC 4180), with its line break."""
    out = StringIO()
    csv.writer(out).writerow(values)  # type: ignore[arg-type]
    return out.getvalue()


def debug_view_page(filters: LineFilters, below: int | None = None) -> LinePage:
    """A page of the first lines of debug views, with the counts of what was seen after them; without refused attempts."""
    return _page(filters, _debug_views(filters), below)


def count(filters: LineFilters) -> int:
    return _debug_views(filters).count()


def _debug_views(filters: LineFilters) -> QuerySet[AuditEvent]:
    return rows(filters).filter(code="", number__in=CountedLine.objects.values("line")).exclude(conversation_id=None)


@dataclass(frozen=True, slots=True)
class Tally:
    """A count of audit lines. A column that was not requested is None."""

    day: str | None
    """In UTC, such as 2026-11-20."""
    person: str | None
    """Who did it; empty for people who were not signed in."""
    whose: str | None
    """The owner of what it was done to."""
    times: int
    """How many lines there are of that day, person and owner."""


def tallies(filters: LineFilters, *, by: frozenset[str], most: int | None = None) -> list[Tally]:
    """Counts by ``person``, ``whose`` and ``day``, or some of them; the latest day first, then the highest count. At most ``most``."""
    columns = [name for name in _GROUPINGS if name in by]
    groups = _grouped(filters, columns).values_list(*columns).annotate(times=Count("*")).order_by()
    times = Counter({tuple(group): number for *group, number in groups})
    _add_repetitions(times, filters, columns)
    tallies = [
        Tally(**{"day": None, "person": None, "whose": None} | dict(zip(columns, group, strict=True)), times=number)
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


def _add_repetitions(times: Counter[tuple[str, ...]], filters: LineFilters, names: list[str]) -> None:
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


def _grouped(filters: LineFilters, names: list[str]) -> QuerySet[AuditEvent]:
    return rows(filters).annotate(**{name: _GROUPINGS[name] for name in names})


def _add(times: Counter[tuple[str, ...]], group: dict[str, str], attempts: RepeatedAttempts | None, filters: LineFilters) -> None:
    """Add attempts to the count of their group, if the last of them is in the period."""
    if attempts is None:
        return
    is_early = filters.since is not None and attempts.last_at < filters.since
    is_late = filters.before is not None and attempts.last_at >= filters.before
    if not is_early and not is_late:
        if "day" in group:
            group["day"] = f"{attempts.last_at:%Y-%m-%d}"
        times[tuple(group.values())] += attempts.number
