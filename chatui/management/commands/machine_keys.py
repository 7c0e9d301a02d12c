"""``manage.py machine_keys``: whether this machine has the keys of the installation; ``--accept`` makes its keys those."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.operations import machine_keys


class Command(BaseCommand):
    """Exit codes: 0 the keys are the recorded ones, or are now; 1 one differs."""

    help = "Compare the keys of this machine with what the database recorded of the installation's. Prints no key."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--accept", action="store_true", help="record the keys of this machine: machines with other ones are refused from now on"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["accept"]:
            replaced = machine_keys.accept()
            self.stdout.write(f"Replaced: {', '.join(replaced)}." if replaced else "The recorded keys are those of this machine.")
            return
        keys = machine_keys.own()
        for key in keys:
            self.stdout.write(f"{key.name}: {self._state(key)}")
        if others := [key for key in keys if key.differs]:
            raise CommandError(machine_keys.sentence(others))

    @staticmethod
    def _state(key: machine_keys.OwnKey) -> str:
        if key.recorded_at is None:
            return "not recorded yet"
        if key.is_same:
            return f"{'as' if key.digest else 'none, as'} recorded on {key.recorded_at:%Y-%m-%d}"
        return "ANOTHER ONE than recorded" if key.differs else "new; the next start records it"
