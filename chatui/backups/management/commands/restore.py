"""``manage.py restore``: replaces the SQLite database with a checked backup, without the people who were erased since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.backups import encryption, restoring
from chatui.backups.files import BackupError
from chatui.backups.restoring import RestoreOptions
from chatui.erasure import erasure_list
from chatui.erasure.erasure_list import BadListError, Erasure


class Command(BaseCommand):
    """Either all of it is done, or the database is as it was."""

    help = "Restore a backup of the SQLite database. No server may be running; the current database is kept beside it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Which backup, and what is known of it."""
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--identity", metavar="FILE", help="file with the private key, if the backup is encrypted")
        parser.add_argument(
            "--erasures", metavar="FILE", action="append", help="list of erasures, from manage.py erasures export; may be repeated"
        )
        parser.add_argument(
            "--without-erasures", action="store_true", help="restore without a list; people erased since the backup come back"
        )
        parser.add_argument("--accept-broken-log", action="store_true", help="restore even if its audit log is not intact")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it."""
        lists = options["erasures"]
        try:
            wanted = RestoreOptions(
                encryption.identities(Path(options["identity"])) if options["identity"] else (),
                None if lists is None else [erasure for name in lists for erasure in _read(Path(name))],
                options["without_erasures"],
                options["accept_broken_log"],
            )
            restored = restoring.restore(Path(options["file"]), wanted)
        except BackupError as error:
            raise CommandError(str(error)) from error
        again = f" {restored.erased} who were erased since were erased again." if restored.erased else ""
        self.stdout.write(f"Restored: {restored.counts}.{again} Everybody has to sign in again.")
        if restored.taken_back is None:
            self.stdout.write("Accounts that were closed, and keys and share links that were revoked since the backup, work again.")
        elif restored.taken_back:
            self.stdout.write(
                f"Accounts, keys and share links closed or revoked again, as they were after the backup: {restored.taken_back}."
            )
        if restored.kept:
            self.stdout.write(
                f"The database that was here is {restored.kept}. Delete it when you no longer need it; it still holds all its data."
            )


def _read(path: Path) -> list[Erasure]:
    try:
        with path.open(encoding="utf-8") as file:
            return erasure_list.read(file)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
    except (BadListError, UnicodeDecodeError) as error:
        raise BackupError(f"{path}: {error}.") from error
