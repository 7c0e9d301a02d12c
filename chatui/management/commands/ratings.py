"""``manage.py ratings``: exports ratings of answers as JSON lines, each with the conversation up to the answer."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from chatui.audit_log.record import SHELL
from chatui.database import versions
from chatui.management.commands.audit import UNUSABLE, since_of, until_of, writer_to
from chatui.permissions.debug_requests import REASON_CHARS
from chatui.transfer import ratings
from chatui.transfer.ratings import ExportOptions, RatingFilters, RatingFormat


class Command(BaseCommand):
    """The export is recorded in the audit log before anything is read; with hidden channels, so is each conversation in it."""

    help = "Export ratings of answers as JSON lines, oldest first. The export is recorded in the audit log. Times are UTC."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--since", type=since_of, help="start day or time, such as 2026-11-20 or 2026-11-20T10:00")
        parser.add_argument("--until", dest="before", type=until_of, help="end day (included) or time")
        parser.add_argument("--verdict", choices=["up", "down"], default="")
        parser.add_argument("--model", default="", help="the model that wrote the answer")
        parser.add_argument("--backend", default="", help="name of the model server that was chosen")
        parser.add_argument("--format", type=RatingFormat, choices=list(RatingFormat), default=RatingFormat.OPENCHATML)
        parser.add_argument("--hidden", metavar="REASON", default="", help="include hidden channels; REASON is recorded in the audit log")
        parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a new file, or - for standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        filters = RatingFilters(**{name: options[name] for name in ("since", "before", "verdict", "model", "backend")})
        reason = options["hidden"].strip()
        if reason and len(reason) not in REASON_CHARS:
            raise CommandError("The reason must have 10 to 180 characters.", returncode=UNUSABLE)
        versions.refuse_newer(connection)
        written = 0
        with writer_to(options["file"], self.stdout) as write:
            for line in ratings.export(SHELL, ExportOptions(filters, options["format"], has_hidden=bool(reason), reason=reason)):
                write(line)
                written += 1
        self.stderr.write(f"{written} of {ratings.count(filters)} ratings were written.")
