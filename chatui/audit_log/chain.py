"""Verifies the hash chain of the audit log, and reports where it is broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from chatui.audit_log.record import FIRST_HASH, HASHED_COLUMNS, digest_of
from chatui.models.audit import AuditEvent

MAX_PROBLEMS = 20
CHUNK_LINES = 2000
"""How many lines are in memory at a time."""
_TRIGGERS = ("chatui_audit_no_update", "chatui_audit_no_delete", "chatui_audit_only_append")


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last line of the log, now or at an earlier time: its number and its hash in hexadecimal."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class ChainProblem:
    """A problem with the line of that number; number 0 means the whole log."""

    number: int
    sentence: str


@dataclass(slots=True)
class ChainReport:
    """The result of a verification."""

    lines: int = 0
    head: ChainHead | None = None
    problems: list[ChainProblem] = field(default_factory=list)
    """The first 20."""
    count: int = 0
    """The number of all problems."""

    @property
    def is_intact(self) -> bool:
        return not self.count


def head() -> ChainHead | None:
    """The last line; None while the log is empty."""
    last = AuditEvent.objects.order_by("-number").values_list("number", "hash").first()
    return ChainHead(*last) if last else None


def verify(noted: ChainHead | None = None) -> ChainReport:
    """Verify the whole log, in constant memory. ``noted``: an earlier head that was stored elsewhere; its line must still be the same."""
    report = ChainReport()
    for problem in _walk(report, noted):
        report.count += 1
        if len(report.problems) < MAX_PROBLEMS:
            report.problems.append(problem)
    return report


def missing_triggers() -> list[str]:
    """The names of the missing triggers with which the database refuses changes to the log."""
    asked = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D'",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(asked)
        there = {row[0] for row in cursor.fetchall()}
    return [name for name in _TRIGGERS if name not in there]


def _walk(report: ChainReport, noted: ChainHead | None) -> Iterator[ChainProblem]:
    last = ChainHead(0, FIRST_HASH)
    is_met = False
    rows = AuditEvent.objects.order_by("number").values_list(*HASHED_COLUMNS, "hash")
    for *values, written in rows.iterator(chunk_size=CHUNK_LINES):
        yield from _broken(values, written, last)
        last = ChainHead(values[0], written)
        report.lines += 1
        if noted and last.number == noted.number:
            is_met = True
            if last.hash != noted.hash:
                yield ChainProblem(last.number, "Its hash differs from the one that was noted: the log was rewritten.")
    report.head = last if report.lines else None
    if noted and not is_met:
        yield ChainProblem(noted.number, "It was noted but does not exist: the end of the log was cut off.")
    for name in missing_triggers():
        yield ChainProblem(0, f"The database does not refuse changes to the log: the trigger {name} is missing.")


def _broken(values: Sequence[Any], written: str, last: ChainHead) -> Iterator[ChainProblem]:
    """The problems of a line and of its link to the line before. ``values``: in the order of HASHED_COLUMNS."""
    number, previous = values[0], values[-1]
    if number != last.number + 1:
        first, final = last.number + 1, number - 1
        lines = f"Line {first} is" if first == final else f"Lines {first} to {final} are"
        yield ChainProblem(number, f"{lines} missing before it.")
    elif previous != last.hash:
        yield ChainProblem(number, "It does not follow the line before it: a line was inserted or removed.")
    if digest_of(values) != written:
        yield ChainProblem(number, "It does not match its hash: it was changed after it was written.")
