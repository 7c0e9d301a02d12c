"""``manage.py restore``: replaces the SQLite database with a backup, and erases the people again who were erased since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from chatui.management.commands.erasures import read_erasures
from chatui.operations import backups, restoring
from chatui.operations.restoring import RestoreOptions
from chatui.program import command


class Command(BaseCommand):
    """Restores everything, or leaves the database unchanged."""

    help = "Restore a backup of the SQLite database. No server may be running; the current database is kept beside it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--identity", metavar="FILE", help="file with the private key, if the backup is encrypted")
        parser.add_argument(
            "--erasures", metavar="FILE", action="append", help=f"list of erasures, from {command('erasures export')}; may be repeated"
        )
        parser.add_argument(
            "--without-erasures", action="store_true", help="restore without a list; people erased since the backup come back"
        )
        parser.add_argument("--accept-broken-log", action="store_true", help="restore even if its audit log is not intact")

    def handle(self, *args: Any, **options: Any) -> None:
        lists = options["erasures"]
        restore_options = RestoreOptions(
            backups.identities(Path(options["identity"])) if options["identity"] else (),
            None if lists is None else [each for name in lists for each in read_erasures(Path(name))],
            options["without_erasures"],
            options["accept_broken_log"],
        )
        restored = restoring.restore(Path(options["file"]), restore_options)
        again = f" People erased again, because they were erased since the backup: {restored.erased}." if restored.erased else ""
        self.stdout.write(f"Restored: {restored.counts}.{again} Everybody has to sign in again.")
        if restored.revoked_again is None:
            self.stdout.write("Accounts closed since the backup, and keys, share links and confirmed tools revoked since, are valid again.")
        elif restored.revoked_again:
            self.stdout.write(
                f"Accounts, keys, share links and confirmed tools closed or revoked again, as since the backup: {restored.revoked_again}."
            )
        if restored.former:
            self.stdout.write(
                f"The former database is {restored.former}. Delete it when you no longer need it: it still contains all its data."
            )
