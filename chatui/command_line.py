"""Runs the management commands, such as ``serve``: ``manage.py`` of a checkout, and ``chatui`` where the package is installed."""

from __future__ import annotations

import os
import signal
import sys

from chatui.program import version

_TERMINATED = 128 + signal.SIGTERM
"""The exit code that a shell gives for a program that the signal ended."""


def main() -> None:
    """Hand the command line to Django, whose own version is not the product's."""
    if sys.argv[1:] in (["--version"], ["version"]):
        sys.stdout.write(f"{version()}\n")
        return
    if sys.argv[1:2] == ["serve"]:
        from chatui import starting, workers

        count = starting.begin(sys.argv[2:])
        if count > 1 and starting.waiting and not {"-h", "--help"} & set(sys.argv):
            workers.run(count, starting.waiting)
    else:
        # A command that a job or the system ends removes its unfinished files, and releases its locks.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    try:
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError as error:
        if error.name != "django":
            raise
        sys.exit("This Python has no Django. Use .venv/bin/python manage.py …, which make run sets up.")
    try:
        execute_from_command_line(sys.argv)
    except Exception as error:
        sentence = explained(error)
        if not sentence or "--traceback" in sys.argv:
            raise
        sys.exit(f"Error: {sentence}")


def explained(error: Exception) -> str:
    """The sentence of ``chatui.database.faults`` about an error; empty before the settings are loaded, which that module needs."""
    from django.conf import settings

    if not settings.configured:
        return ""
    from chatui.database import faults

    return faults.explained(error)
