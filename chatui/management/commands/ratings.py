"""``manage.py ratings``: exports ratings of answers as JSON lines, each with the conversation up to the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.audit_log.record import SHELL
from chatui.management.commands.audit import UNUSABLE, since_of, until_of
from chatui.permissions.debug_requests import REASON_CHARS
from chatui.transfer import ratings
from chatui.transfer.ratings import ExportOptions, RatingFilters, RatingFormat


class Command(BaseCommand):
    """The export is recorded in the audit log before anything is read; with hidden channels, so is each conversation in it."""

    help = "Export ratings of answers as JSON lines, oldest first. The export is recorded in the audit log. Times are UTC."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Which ratings, how, and where to."""
        parser.add_argument("--since", type=since_of, help="start day or time, such as 2026-11-20 or 2026-11-20T10:00")
        parser.add_argument("--until", dest="before", type=until_of, help="end day (included) or time")
        parser.add_argument("--verdict", choices=["up", "down"], default="")
        parser.add_argument("--model", default="", help="the model that wrote the answer")
        parser.add_argument("--backend", default="", help="name of the model server that was chosen")
        parser.add_argument("--format", type=RatingFormat, choices=list(RatingFormat), default=RatingFormat.OPENCHATML)
        parser.add_argument("--hidden", metavar="REASON", default="", help="include hidden channels; REASON is recorded in the audit log")
        parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a new file, or - for standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the ratings, and print how many there were."""
        filters = RatingFilters(**{name: options[name] for name in ("since", "before", "verdict", "model", "backend")})
        reason = options["hidden"].strip()
        if reason and len(reason) not in REASON_CHARS:
            raise CommandError("The reason must have 10 to 180 characters.", returncode=UNUSABLE)
        path = Path(options["file"])
        if options["file"] != "-":
            try:
                # Never overwrites a file, and only its owner can read it.
                path.touch(mode=0o600, exist_ok=False)
            except OSError as error:
                raise CommandError(f"{path} cannot be created: {error.strerror}.", returncode=UNUSABLE) from error
        lines = ratings.export(SHELL, ExportOptions(filters, options["format"], has_hidden=bool(reason), reason=reason))
        written = self._print(lines) if options["file"] == "-" else _save(lines, path)
        self.stderr.write(f"{written} of {ratings.count(filters)} ratings were written.")

    def _print(self, lines: Iterator[str]) -> int:
        written = 0
        for line in lines:
            self.stdout.write(line, ending="")
            written += 1
        return written


def _save(lines: Iterator[str], path: Path) -> int:
    written = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for line in lines:
            file.write(line)
            written += 1
    return written
