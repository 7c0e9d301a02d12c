"""``manage.py audit verify|head|export|counts``: verifies the audit log, exports it and counts its lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.db import connection

from chatui.audit_log import aggregation, chain
from chatui.audit_log import lines as audit_log_lines
from chatui.audit_log.chain import ChainHead
from chatui.audit_log.lines import LineFilters
from chatui.audit_log.record import SHELL, record
from chatui.database import versions
from renderer.characters import safe_for_terminal

BROKEN = 1
UNUSABLE = 2
_ALL = 1_000_000

NOT_COMPARED = (
    "WARNING: THE LOG WAS NOT COMPARED WITH A NOTED HEAD. Somebody who can write to the database can remove lines at the end, or replace "
    "the whole log, and leave the chain intact. Store the head where they cannot write, and pass it with --number and --head next time."
)


class Command(BaseCommand):
    """Exit codes: 0 the log is intact (or the command succeeded), 1 it is broken, 2 the arguments are invalid."""

    help = "Verify, export or count the audit log, or print its head. Times are UTC."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parts = parser.add_subparsers(dest="what", required=True, parser_class=argparse.ArgumentParser)
        verify = parts.add_parser("verify", help="verify the hash chain and report where it is broken")
        verify.add_argument("--number", type=int, help="number of a line, noted earlier outside the database")
        verify.add_argument("--head", metavar="HASH", help="hash noted with that number")
        parts.add_parser("head", help="print the number and hash of the last line, to be noted elsewhere")
        filters = argparse.ArgumentParser(add_help=False)
        filters.add_argument("--since", type=since_of, help="start day or time, such as 2026-11-20 or 2026-11-20T10:00")
        filters.add_argument("--until", dest="before", type=until_of, help="end day (included) or time")
        filters.add_argument("--code", default="", help="such as E-PERM-VISIBILITY")
        filters.add_argument("--person", default="", help="account that acted")
        filters.add_argument("--whose", default="", help="account that owns the conversation, or that was changed")
        filters.add_argument("--conversation", type=UUID, help="id of a conversation")
        export = parts.add_parser("export", parents=[filters], help="export lines, oldest first; the export is recorded too")
        export.add_argument("--format", choices=list(audit_log_lines.FORMATS), default="jsonl")
        export.add_argument("file", metavar="FILE", nargs="?", default="-", help="a new file, or - for standard output")
        by = parts.add_parser("counts", parents=[filters], help="count lines; a line that stands for several attempts counts as that many")
        by.add_argument("--by", type=_columns, default=frozenset({"person", "day"}), metavar="person,day,whose", help="(person,day)")

    def handle(self, *args: Any, **options: Any) -> None:
        versions.refuse_newer(connection)
        getattr(self, f"_{options['what']}")(options)

    def _verify(self, options: dict[str, Any]) -> None:
        number, noted = options["number"], options["head"]
        if (number is None) != (noted is None):
            raise CommandError("--head and --number must be used together.", returncode=UNUSABLE)
        report = chain.verify(ChainHead(number, noted.strip().lower()) if noted is not None else None)
        for problem in report.problems:
            place = f"Line {problem.number}: " if problem.number else ""
            self.stdout.write(f"{place}{problem.sentence}")
        if report.count > len(report.problems):
            self.stdout.write(f"And {report.count - len(report.problems)} more.")
        state = "The log is intact" if report.is_intact else "THE LOG IS NOT INTACT"
        head = f"Head: --number {report.head.number} --head {report.head.hash}" if report.head else "It is empty."
        self.stdout.write(f"{state}: {report.lines} lines. {head}")
        if noted is None:
            self.stderr.write(NOT_COMPARED)
        if not report.is_intact:
            sys.exit(BROKEN)

    def _head(self, options: dict[str, Any]) -> None:
        head = chain.head()
        self.stdout.write(f"--number {head.number} --head {head.hash}" if head else "The log is empty.")

    def _export(self, options: dict[str, Any]) -> None:
        filters = _filters(options)
        lines = audit_log_lines.FORMATS[options["format"]]
        aggregation.close_expired(_ALL)
        with writer_to(options["file"], self.stdout) as write:
            record("audit export", SHELL, detail=f"{options['format']}: {filters}")
            for line in lines(filters):
                write(line)

    def _counts(self, options: dict[str, Any]) -> None:
        for tally in audit_log_lines.tallies(_filters(options), by=options["by"]):
            person = None if tally.person is None else safe_for_terminal(tally.person) or "(nobody signed in)"
            whose = None if tally.whose is None else safe_for_terminal(tally.whose) or "(nobody's)"
            self.stdout.write("\t".join(str(cell) for cell in (tally.day, person, whose, tally.times) if cell is not None))


@contextmanager
def writer_to(name: str, stdout: OutputWrapper) -> Iterator[Callable[[str], object]]:
    """Within this context, a function that writes text to a new file of that name, or for ``-`` to standard output."""
    if name == "-":
        yield partial(stdout.write, ending="")
        return
    try:
        # Never overwrites a file, and only its owner can read it.
        Path(name).touch(mode=0o600, exist_ok=False)
    except OSError as error:
        raise CommandError(f"{name} cannot be created: {error.strerror}.", returncode=UNUSABLE) from error
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        yield file.write


def _filters(options: dict[str, Any]) -> LineFilters:
    return LineFilters(**{name: options[name] for name in ("since", "before", "code", "person", "whose", "conversation")})


def _columns(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(","))
    if not names <= {"person", "day", "whose"}:
        raise argparse.ArgumentTypeError("person, day or whose, or several of them with commas")
    return names


def since_of(text: str) -> datetime:
    """The start of a day or time from the command line."""
    return _moment(text)[0]


def until_of(text: str) -> datetime:
    """The end of a day or time from the command line."""
    moment, is_day = _moment(text)
    return moment + timedelta(days=1) if is_day and moment.date() < date.max else moment


def _moment(text: str) -> tuple[datetime, bool]:
    """A time, and whether it is a whole day. Without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("a day such as 2026-11-20, or a time such as 2026-11-20T10:00") from None
    is_day = len(text) == len("2026-11-20") and moment.time() == time.min
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)), is_day
