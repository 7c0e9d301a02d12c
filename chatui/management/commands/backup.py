"""``manage.py backup``: copies a SQLite database while it is in use, checks the copy, and encrypts it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection

from chatui.database import versions
from chatui.operations import backups
from chatui.program import command


class Command(BaseCommand):
    """Exit codes: 0 a backup was created; 1 none was created, or its audit log is broken."""

    help = "Back up the SQLite database while it is in use. The backup is verified, and only its owner can read it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "place", metavar="PLACE", nargs="?", help="a new file, or a directory in which to create one named after the time"
        )
        parser.add_argument(
            "--to",
            metavar="KEY",
            action="append",
            default=[],
            help="encrypt for this public key: age1…, ssh-…, or a file with one per line; may be repeated",
        )
        parser.add_argument("--ended", action="store_true", help="only record that another program, such as pg_dump, has made a backup")
        parser.add_argument("--new-key", metavar="FILE", help="only create a key in a new file, and print its public key")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["new_key"]:
            self._make_key(Path(options["new_key"]))
            return
        if not options["place"] and not options["ended"]:
            raise CommandError("Name the destination of the backup: a new file, or a directory.")
        versions.refuse_newer(connection)
        if options["ended"]:
            self._record_end("by another program")
            return
        backup = backups.create(Path(options["place"]), backups.recipients(options["to"]))
        self._record_end()
        head = backup.report.head
        self.stdout.write(f"{backup.path}: {backup.counts}.")
        if not backup.report.is_intact:
            self.stderr.write(f"THE AUDIT LOG IS NOT INTACT: {command('audit verify')} shows where. The backup contains it unchanged.")
            sys.exit(1)
        self.stdout.write(f"The log is intact. Head: --number {head.number} --head {head.hash}" if head else "The log is empty.")

    def _record_end(self, detail: str = "") -> None:
        try:
            backups.record_end(detail)
        except DatabaseError as error:
            raise CommandError(f"The backup is made, but that cannot be recorded: {error}.") from error

    def _make_key(self, path: Path) -> None:
        try:
            public = backups.new_key(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be created: {error.strerror}.") from error
        self.stdout.write(public)
        self.stderr.write(f"Store {path} away from this machine: without it, nobody can read backups for this key; with it, anybody can.")
