"""``manage.py canary``: sends markers through a live deployment's real path from a model server, and searches for leaks."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType
from typing import Any, NoReturn
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from chatui.env import environment
from chatui.operations.canary.run import EXIT_CODES, FEW_SHAPES, as_json, as_text, run_canary
from chatui.operations.canary.watch import INCOMPLETE, CanaryError


class Command(BaseCommand):
    """Exit codes: 0 nothing leaked, 1 hidden text leaked, 2 the check could not be completed, so it proves nothing."""

    help = "Check a running deployment for leaks of hidden text. Run it from cron or monitoring, with the environment of the server."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--url", default="", help="public address of the deployment (first of CHATUI_ORIGINS, else http://127.0.0.1:8000)"
        )
        parser.add_argument(
            "--listen",
            default="127.0.0.1",
            metavar="HOST[:PORT]",
            help="address of this machine for the canary's model server, reachable by the deployment (127.0.0.1, a free port)",
        )
        parser.add_argument("--seconds", type=float, default=180.0, help="time limit, not counting the clean-up (180)")
        parser.add_argument(
            "--shapes",
            type=_count,
            default=FEW_SHAPES,
            metavar="NUMBER|all",
            help=f"how many randomly chosen shapes of the catalogue to play over each wire format ({FEW_SHAPES}); all takes minutes",
        )
        parser.add_argument("--seed", type=int, default=None, help="repeat the run that had this seed")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        origins = environment().origins
        url = options["url"] or (origins[0] if origins else "http://127.0.0.1:8000")
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            report = run_canary(url, _listen_address(options["listen"]), *(options[name] for name in ("seconds", "shapes", "seed")))
        except DatabaseError as error:
            raise CommandError("The database of the deployment cannot be used from here.", returncode=INCOMPLETE) from error
        for line in [as_json(report)] if options["json"] else as_text(report):
            self.stdout.write(line)
        if code := EXIT_CODES[report.outcome]:
            sys.exit(code)


def _listen_address(listen: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{listen}")
        if not parts.hostname or parts.path or parts.username is not None:
            raise ValueError
        return parts.hostname, parts.port or 0
    except ValueError:
        raise CanaryError("--listen is HOST or HOST:PORT.") from None


def _count(written: str) -> int | None:
    """A number of shapes; None for all."""
    if written == "all":
        return None
    if not written.isascii() or not written.isdigit():
        raise argparse.ArgumentTypeError("is a number, or all")
    return int(written)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Treat SIGTERM, such as a timer sends it, like Ctrl-C: the canary still cleans up."""
    raise KeyboardInterrupt
