"""``manage.py erasures export|apply``: stores a list of erasures outside backups, and repeats them in a restored backup."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.audit_log.record import SHELL
from chatui.lifecycle import erasure as lifecycle_erasure
from chatui.lifecycle.erasure import Erasure, contents_of, erase
from renderer.characters import safe_for_terminal


class Command(BaseCommand):
    """The list contains ids, names and times, but no other data of the people."""

    help = "Keep a list of erased people outside the backups, and erase again those whom a restored backup has brought back."

    def add_arguments(self, parser: CommandParser) -> None:
        parts = parser.add_subparsers(dest="what", required=True, parser_class=argparse.ArgumentParser)
        export = parts.add_parser("export", help="add missing erasures to FILE; nothing is removed from it")
        export.add_argument("file", metavar="FILE", nargs="?", default="-", help="a file, or - to print all erasures to standard output")
        apply = parts.add_parser("apply", help="erase everybody in FILE who has an account again")
        apply.add_argument("file", metavar="FILE")
        apply.add_argument("--dry-run", action="store_true", help="only list who would be erased")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['what']}")(options)

    def _export(self, options: dict[str, Any]) -> None:
        if options["file"] == "-":
            for erasure in lifecycle_erasure.recorded():
                self.stdout.write(erasure.line(), ending="")
            return
        path = Path(options["file"])
        try:
            path.touch(mode=0o600)
            # The list may have more entries than a restored database, so lines are only appended.
            known = {erasure.id for erasure in read_erasures(path)}
            with path.open("a", encoding="utf-8") as file:
                file.writelines(erasure.line() for erasure in lifecycle_erasure.recorded() if erasure.id not in known)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error

    def _apply(self, options: dict[str, Any]) -> None:
        people = lifecycle_erasure.restored(read_erasures(Path(options["file"])))
        for person in people:
            self.stdout.write(f"{safe_for_terminal(person.get_username())}: {contents_of(person)}")
            if not options["dry_run"] and (warning := erase(SHELL, person).warning):
                self.stdout.write(warning)
        done = "would be erased" if options["dry_run"] else "erased"
        self.stdout.write(f"{len(people)} {'person' if len(people) == 1 else 'people'} {done}.")


def read_erasures(path: Path) -> list[Erasure]:
    """The erasures in a list. Raises CommandError."""
    try:
        with path.open(encoding="utf-8") as file:
            return lifecycle_erasure.read(file)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"{path}: {error}.") from error
