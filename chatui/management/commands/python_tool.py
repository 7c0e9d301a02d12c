"""``manage.py python_tool``: builds the environment with the packages of the tool ``python``, or says what is there."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.env import environment
from chatui.tools.python import availability, packages


class Command(BaseCommand):
    """Safe to run again: an environment with the versions of this release is left unchanged."""

    help = f"Install {', '.join(packages.NAMES)} for the tool python, in pinned versions, into the data directory."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--again", action="store_true", help="build it even if it has the versions of this release")

    def handle(self, *args: Any, **options: Any) -> None:
        data_dir = environment().data_dir
        environment().make_data_dir()
        found = {} if options["again"] or not packages.is_current(data_dir) else packages.versions(data_dir)
        if not found:
            try:
                found = packages.build(data_dir, self.stdout.write)
            except packages.PackagesError as error:
                raise CommandError(str(error)) from None
        self.stdout.write(f"In {packages.place(data_dir)}: {', '.join(f'{name} {version}' for name, version in found.items())}.")
        self.stdout.write(_next_step())


def _next_step() -> str:
    env = environment()
    if env.python_program or env.python_service_url:
        return "It is not used, because CHATUI_PYTHON_PROGRAM or CHATUI_PYTHON_SERVICE_URL is set."
    if availability.RECIPIENT not in env.tools:
        return "Offer the tool with CHATUI_TOOLS=python, and restart the product."
    reason = availability.why_off()
    return f"The tool python is off, because {reason}." if reason else "Restart the product to use it."
