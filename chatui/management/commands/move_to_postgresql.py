"""``manage.py move_to_postgresql``: moves all data from SQLite to PostgreSQL, for a deployment that grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from chatui.database import versions
from chatui.operations import moving
from chatui.program import command


class Command(BaseCommand):
    """Moves everything, or leaves the PostgreSQL database empty. Never changes the file."""

    help = "Copy all data from a SQLite file into the empty PostgreSQL database of CHATUI_DATABASE_URL."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the SQLite file, such as var/chatui.sqlite3; no server may be using it")

    def handle(self, *args: Any, **options: Any) -> None:
        versions.refuse_newer(connection)
        moved = moving.move(Path(options["file"]), self.stdout.write)
        self.stdout.write(
            f"Moved: {moved.counts}; {sum(moved.rows.values()):,} rows in {len(moved.rows)} tables, the same number as in the file."
        )
        self.stdout.write(
            "The audit log is intact." if moved.log.is_intact else f"The audit log is NOT intact: {command('audit verify')} shows where."
        )
        self.stdout.write(f"Keep {options['file']} until you have checked the result, then delete it: it still contains all data.")
