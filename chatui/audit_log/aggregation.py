"""Aggregates repeated events in the audit log: the first get their lines at once, the others are counted, and a last line gives the counts.

Each repetition is counted in the database before anything is shown: if a process dies, the count remains, and another process writes the
last line, the sum. Lines are only ever added. Counter rows are written only while the log is locked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chatui.audit_log.record import Visitor, append, lock
from chatui.guesses import address_group
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.user import User

SERVER_WAY = "server"
"""The value of ``way`` in lines that the product writes by itself."""

MORE = "more"
MORE_ELSEWHERE = "more on other conversations"
_ATTEMPTS = (MORE, MORE_ELSEWHERE)
"""What repeated attempts are counted as. All other counts belong to debug views, and are named after the action."""

SUM_PREFIX = "after line "
MAX_NETWORKS = 20
_MAX_CLOSED = 50
_ATTEMPTS_SUM = re.compile(rf"{SUM_PREFIX}\d+: (\d+) more\b.*; last (\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Repetition:
    """A repetition of an event."""

    number: int
    """How often it was counted so far."""
    is_new_network: bool
    """Whether it is the first one from its network."""


@dataclass(frozen=True, slots=True)
class RepeatedAttempts:
    """The number of repeated attempts, and the time of the last one."""

    number: int
    last_at: datetime


def open_counter(line: AuditEvent, key: str, person: User | None, ends_at: datetime) -> CountedLine:
    """Start a counter with that key for repetitions after this line. No other open counter may have the key."""
    return CountedLine.objects.create(
        line=line.number,
        key=key,
        person_id=person.pk if person else None,
        networks=[address_group(line.address)],
        ends_at=ends_at,
    )


def count(key: str, what: str, visitor: Visitor, ends_at: datetime, first: Callable[[], AuditEvent]) -> Repetition | None:
    """Count one ``what`` in the counter with that key. If none is open, write the line ``first``, start a counter, and return None.

    In a debug view, the first line's event is counted as well; of attempts, only the repetitions. Raises a database error if that fails.
    """
    with transaction.atomic():
        lock()
        row = CountedLine.objects.filter(key=key).first()
        if row is not None and row.ends_at <= timezone.now():
            _close(row)
            row = None
        if row is not None:
            return _count(row, what, address_group(visitor.address))
        first_line = first()
        row = open_counter(first_line, key, visitor.user, ends_at)
        if not first_line.code:  # of a debug view: attempts have a code
            _count(row, what, address_group(visitor.address))
    return None


def is_open(key: str) -> bool:
    return CountedLine.objects.filter(key=key).exists()


def count_open(person: User, prefix: str) -> int:
    return CountedLine.objects.filter(person_id=person.pk, key__startswith=prefix, ends_at__gt=timezone.now()).count()


def close_counter(key: str, visitor: Visitor | None = None) -> AuditEvent | None:
    """Close the counter with this key, if any, and write its sum line, as ``visitor`` or (None) as the product. Returns the line."""
    with transaction.atomic():
        lock()
        row = CountedLine.objects.filter(key=key).first()
        return _close(row, visitor) if row else None


def close_expired(most: int = _MAX_CLOSED) -> None:
    """Write the sum lines of expired counters, of at most ``most``."""
    overdue = CountedLine.objects.filter(sum_line=None, ends_at__lte=timezone.now()).order_by("ends_at")
    _close_all(overdue.values_list("key", flat=True)[:most])


def close_all_of(person: User) -> None:
    """Write the sum lines of all open counters of a person or about their conversations, before their account is erased."""
    open_rows = CountedLine.objects.filter(sum_line=None)
    about = AuditEvent.objects.filter(number__in=open_rows.values("line"), owner_name=person.get_username())
    _close_all(open_rows.filter(Q(person_id=person.pk) | Q(line__in=about.values("number"))).values_list("key", flat=True))


def counts_in_words(row: CountedLine) -> str:
    """The sum in words, such as ``3 × page, 1 × stream; last 2026-11-20 10:14:03``."""
    if not row.last_at:
        return "nothing was shown"
    attempts = [f"{number} {what}" for what, number in row.counts.items() if what in _ATTEMPTS]
    views = [f"{number} × {what.removeprefix('debug ')}" for what, number in row.counts.items() if what not in _ATTEMPTS]
    here = len(row.networks)
    networks = f"; from {here}{' or more' if here >= MAX_NETWORKS else ''} networks" if here > 1 else ""
    return f"{', '.join([*attempts, *views])}{networks}; last {row.last_at:%Y-%m-%d %H:%M:%S}"


def attempts_in(detail: str) -> RepeatedAttempts | None:
    """The attempts that a sum line stands for, read from its detail; None for a debug view."""
    found = _ATTEMPTS_SUM.match(detail)
    return RepeatedAttempts(int(found[1]), datetime.fromisoformat(found[2]).replace(tzinfo=UTC)) if found else None


def sum_lines_among(lines: Iterable[int]) -> dict[int, int]:
    """The sum lines among these lines: their numbers, each with the number of its first line."""
    rows = CountedLine.objects.filter(sum_line__in=list(lines)).values_list("sum_line", "line")
    return {sum_line: line for sum_line, line in rows if sum_line is not None}


def is_sum_of(detail: str, line: int) -> bool:
    """Whether a line with this detail is the sum line for that first line."""
    return detail.startswith(f"{SUM_PREFIX}{line}: ")


def sums_of(first_lines: Iterable[int]) -> dict[int, tuple[str, int | None]]:
    """How often each of these first lines was repeated, by its number: in words, and the number of the sum line, which is None while the
    repetitions are still counted. Lines without repetitions are left out."""
    counters = list(CountedLine.objects.filter(line__in=list(first_lines)))
    sum_lines = AuditEvent.objects.filter(number__in=[counter.sum_line for counter in counters if counter.sum_line is not None])
    details = dict(sum_lines.values_list("number", "detail"))
    sums: dict[int, tuple[str, int | None]] = {}
    for counter in counters:
        if counter.sum_line is None:
            if counter.last_at:
                sums[counter.line] = f"so far {counts_in_words(counter)}", None
        # Counters can be changed in the database, lines cannot: the sum line itself has to name the first line.
        elif is_sum_of(detail := details.get(counter.sum_line, ""), counter.line):
            sums[counter.line] = detail.partition(": ")[2], counter.sum_line
    return sums


def attempts_after() -> dict[int, RepeatedAttempts]:
    """The attempts counted so far by open counters, by the number of the counter's first line."""
    rows = CountedLine.objects.filter(sum_line=None).exclude(last_at=None)
    numbers = ((row, sum(row.counts.get(what, 0) for what in _ATTEMPTS)) for row in rows)
    return {row.line: RepeatedAttempts(number, row.last_at) for row, number in numbers if row.last_at and number}


def _count(row: CountedLine, what: str, network: str) -> Repetition:
    number = row.counts.get(what, 0) + 1
    row.counts[what] = number
    # Requests through a Unix socket have no address.
    is_new = network != "" and network not in row.networks and len(row.networks) < MAX_NETWORKS
    if is_new:
        row.networks.append(network)
    row.last_at = timezone.now()
    row.save(update_fields=["counts", "networks", "last_at"])
    return Repetition(number, is_new)


def _close_all(keys: Iterable[str | None]) -> None:
    for key in list(keys):
        if key is not None:
            close_counter(key)


def _close(row: CountedLine, visitor: Visitor | None = None) -> AuditEvent | None:
    """Write the sum line, except after an attempt without repetitions. A debug view always gets one."""
    first_line = AuditEvent.objects.get(number=row.line)
    if first_line.code and not row.counts:
        row.delete()
        return None
    line = append(_sum_of(row, first_line, visitor))
    row.sum_line, row.key, row.person_id, row.counts, row.networks, row.last_at = line.number, None, None, {}, [], None
    row.save()
    return line


def _sum_of(row: CountedLine, first_line: AuditEvent, visitor: Visitor | None) -> AuditEvent:
    """The sum line: with the same person, conversation and owner as the first line, even if they no longer exist."""
    if first_line.code:
        action, way, address = first_line.action, first_line.way, first_line.address
    elif visitor:
        action, way, address = "close debug view", visitor.via, visitor.address
    else:
        action, way, address = "debug view ended", SERVER_WAY, ""
    is_elsewhere = MORE_ELSEWHERE in row.counts
    return AuditEvent(
        action=action,
        code=first_line.code,
        way=way,
        actor_id=first_line.actor_id,
        actor_name=first_line.actor_name,
        conversation_id=None if is_elsewhere else first_line.conversation_id,
        owner_name="" if is_elsewhere else first_line.owner_name,
        address=address[:64],
        detail=f"{SUM_PREFIX}{row.line}: {counts_in_words(row)}"[:200],
    )
