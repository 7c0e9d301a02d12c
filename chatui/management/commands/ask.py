"""``manage.py ask``: streams the answer to one question, exactly as the chosen audience would see it.

Only the operator has a shell, so nothing here is audited, and ``--as staff`` shows hidden frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from chatui.database import versions
from chatui.operations.one_question import UNUSABLE, AnswerSoFar, add_server_arguments, backend_for, request_for, server_for
from renderer.characters import safe_for_terminal
from renderer.events import RawEvent
from renderer.gate import Audience, Gate, VisibleClosed, VisibleDelta, VisibleOpened, VisibleWithdrawn

EXIT_CODES = {"completed": 0, "incomplete": 1, "failed": 3, "interrupted": 4}
NO_ANSWER = 1
AUDIENCES = {"end-user": Audience.END_USER, "staff": Audience.DEBUG}


class Command(BaseCommand):
    """Exit codes: 0 an answer or a tool call, 1 a truncated answer or none, 2 nothing could be sent, 3 the server failed, 4 interrupted."""

    help = "Ask a model server one question. PROMPT may be - for standard input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_server_arguments(parser)
        parser.add_argument(
            "--as", dest="audience", choices=list(AUDIENCES), default="end-user", help="show only what this audience may see (end-user)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object at the end: status, visible, tool_calls, error")
        parser.add_argument("prompt", metavar="PROMPT", help="the question, or - for standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        audience = AUDIENCES[options["audience"]]
        prompt = sys.stdin.read() if options["prompt"] == "-" else options["prompt"]
        if not prompt.strip():
            raise CommandError("The question is empty.", returncode=UNUSABLE)
        versions.refuse_newer(connection)
        server = server_for(options)
        backend, request = backend_for(server), request_for(server, options, prompt)
        answer, screen = AnswerSoFar(), _Screen(self, audience)
        with contextlib.suppress(KeyboardInterrupt):  # what has arrived so far is shown below
            asyncio.run(answer.run(backend, request, (lambda _: None) if options["json"] else screen.show))
        if options["json"]:
            shown = {"visible": answer.visible(audience), "tool_calls": answer.tool_calls}
            self.stdout.write(json.dumps({"status": answer.status, **shown, "error": answer.code}))
        else:
            screen.end()
            self._print_problems(answer, audience)
        if code := EXIT_CODES[answer.status] or (NO_ANSWER if answer.code else 0):
            sys.exit(code)

    def _print_problems(self, answer: AnswerSoFar, audience: Audience) -> None:
        if answer.code:
            self.stderr.write(f"{answer.code}: {answer.code.sentence}")
        if answer.error and answer.error.detail and audience is Audience.DEBUG:
            self.stderr.write(safe_for_terminal(answer.error.detail))
        if answer.ended and answer.ended.turns_left_out:
            self.stderr.write(f"The oldest {answer.ended.turns_left_out} turns did not fit and were left out.")


class _Screen:
    """Writes visible events to the terminal, as they arrive."""

    def __init__(self, command: BaseCommand, audience: Audience) -> None:
        self._out = command.stdout
        self._gate = Gate(audience)
        self._is_first = True
        self._at_line_start = True

    def show(self, event: RawEvent) -> None:
        match self._gate.admit(event):
            case VisibleOpened(header=header):
                self._write("" if self._is_first else "\n" if self._at_line_start else "\n\n")
                self._is_first = False
                if self._gate.audience is Audience.DEBUG:
                    fields = " ".join(value if name == "role" else f"{name}={value}" for name, value in header.as_written().items())
                    self._write(f"── {fields}\n")
            case VisibleDelta(text=text):
                self._write(text)
            case VisibleWithdrawn():
                # Printed text cannot be removed from a terminal, so a line says that it was not the answer.
                self._write("\n── withdrawn: the text above was not the answer\n")
            case VisibleClosed(event=closed) if closed.error and self._gate.audience is Audience.DEBUG:
                self._write(f"\n── {closed.error}")

    def end(self) -> None:
        if not self._at_line_start:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._at_line_start = text.endswith("\n")
            self._out.write(safe_for_terminal(text), ending="")
            self._out.flush()
