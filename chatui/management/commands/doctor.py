"""``manage.py doctor``: examines a live model server: what it is, which wire format fits best, and which faults it has."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from chatui.backends import registry
from chatui.backends.spec import BackendSpec
from chatui.codes import Cause
from chatui.database import versions
from chatui.env import environment
from chatui.model_servers import connected
from chatui.operations.doctor.examination import SECONDS, ExaminedServer, examine
from chatui.operations.doctor.report import DoctorReport, as_json, as_text, unasked
from chatui.operations.one_question import UNUSABLE, server_for
from chatui.tools.python import availability
from renderer.characters import safe_for_terminal

_NAMELESS = "server"
"""The name of a server that is examined by its address and has no name."""


@dataclass(frozen=True, slots=True)
class _Selected:
    """A model server to examine. ``targets``: one for each of its addresses; none if there is a ``problem``, which is the reason."""

    spec: BackendSpec
    targets: tuple[ExaminedServer, ...]
    problem: str = ""


class Command(BaseCommand):
    """Exit codes: 0 healthy, 1 it works with faults, 2 it could not be examined or the arguments are invalid, 3 it leaks or cannot be
    used with the configured kind. With several model servers, the highest code is returned.
    """

    help = "Examine a model server: what it is, which wire format fits best, which known faults it has. No model output is shown."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "backend", nargs="?", default="", metavar="BACKEND", help="a configured model server, or NAME/MODEL; all of them if omitted"
        )
        parser.add_argument("--url", default="", help="address of a model server that is not configured")
        parser.add_argument("--kind", choices=list(registry.KINDS), help="wire format to judge; the default is the configured one, or chat")
        parser.add_argument("--model", help="model name; the default is the configured one, or the first that the server lists")
        parser.add_argument("--key-env", metavar="NAME", help="environment variable that holds the key")
        parser.add_argument("--seconds", type=_seconds, default=SECONDS, metavar="N", help=f"time limit for each address ({SECONDS:g})")
        parser.add_argument("--json", action="store_true", help="print one JSON object: backends, exit")

    def handle(self, *args: Any, **options: Any) -> None:
        versions.refuse_newer(connection)
        results: list[dict[str, object]] = []
        code = 0
        for selected in _all_selected(options):
            reports = list(self._examined(selected, options))
            code = max(code, *(report.level.exit_code for report in reports))
            results += map(as_json, reports)
        if not options["json"] and not options["url"] and not options["backend"]:
            self._say_of_tools()
        if options["json"]:
            self.stdout.write(json.dumps({"backends": results, "exit": code}))
        if code:
            sys.exit(code)

    def _say_of_tools(self) -> None:
        """What else of this machine a model cannot use, and the remedy. ``check`` says it, too."""
        if availability.RECIPIENT in environment().tools and (reason := availability.why_off()):
            self.stdout.write(f"Tools: python is off, because {reason}.")

    def _examined(self, selected: _Selected, options: dict[str, Any]) -> Iterator[DoctorReport]:
        """Examine each address, and print and return its report."""
        if not selected.targets:
            yield self._printed(unasked(selected.spec, Cause.KEY_MISSING, selected.problem), options)
        for number, target in enumerate(selected.targets, 1):
            if self.stderr.isatty() and not options["json"]:
                self.stderr.write(f"Asking {target.name}, for {options['seconds']:g} seconds at most …")
            try:
                report = asyncio.run(examine(target, seconds=options["seconds"]))
            except KeyboardInterrupt:
                raise CommandError("Interrupted.", returncode=UNUSABLE) from None
            yield self._printed(replace(report, address=(number, len(selected.targets))), options)

    def _printed(self, report: DoctorReport, options: dict[str, Any]) -> DoctorReport:
        if not options["json"]:
            self.stdout.write(safe_for_terminal(as_text(report)) + "\n")
        return report


def _all_selected(options: dict[str, Any]) -> list[_Selected]:
    """The model servers to examine. Skips the built-in demo, because it has no faults that an operator could fix."""
    if options["url"] or options["backend"]:
        selected = [_selected(options)]
    else:
        selected = [_selected_or_problem(spec, options) for spec in connected.specs() if not spec.is_demo]
    if not selected or selected[0].spec.is_demo:
        problem = "There is no model server to examine, only the built-in demo. Name one with --url."
        raise CommandError(problem, returncode=UNUSABLE)
    return selected


def _selected_or_problem(spec: BackendSpec, options: dict[str, Any]) -> _Selected:
    """The model server, or why it cannot be examined: a missing key of one must not prevent the examination of the others."""
    try:
        return _selected({**options, "backend": spec.name})
    except CommandError as error:
        return _Selected(spec, (), str(error))


def _selected(options: dict[str, Any]) -> _Selected:
    server = server_for(options)
    spec = server.spec
    model = server.model or next(iter(spec.models), None)
    name = spec.name if options["backend"] else _NAMELESS
    target = ExaminedServer(
        *(name, spec.url, connected.gpt_oss_vocabulary, spec.kind, server.key, model, spec.summaries, spec.route),
        asks_for_reasoning=spec.ask_for_reasoning,
        separates=spec.separates,
    )
    urls = (spec.url, *(spec.more_urls if options["backend"] else ()))
    return _Selected(spec, tuple(replace(target, url=url) for url in urls))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 3600:
        raise ArgumentTypeError("must be a number of seconds from 1 to 3600")
    return seconds
