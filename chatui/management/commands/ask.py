"""``manage.py ask``: streams the answer to one question, exactly as the chosen audience would see it.

The shell is the operator's: nothing here is audited, and ``--as staff`` shows hidden frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.management.one_question import UNUSABLE, AnswerSoFar, add_server_arguments, backend_for, request_for, server_for
from renderer.events import RawEvent
from renderer.gate import Audience, Gate, VisibleClosed, VisibleDelta, VisibleOpened, VisibleWithdrawn
from renderer.terminal import harmless

EXIT_CODES = {"completed": 0, "incomplete": 1, "failed": 3, "interrupted": 4}
NO_ANSWER = 1
AUDIENCES = {"end-user": Audience.END_USER, "staff": Audience.DEBUG}


class Command(BaseCommand):
    """Exit codes: 0 an answer or a call, 1 cut or no answer at all, 2 the server could not be asked, 3 it failed, 4 interrupted."""

    help = "Ask a model server one question. PROMPT may be - for standard input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """The server, the audience, the question."""
        add_server_arguments(parser)
        parser.add_argument(
            "--as", dest="audience", choices=list(AUDIENCES), default="end-user", help="show only what this audience may see (end-user)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object at the end: status, visible, tool_calls, error")
        parser.add_argument("prompt", metavar="PROMPT", help="the question, or - for standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, show, and leave with the exit code."""
        audience = AUDIENCES[options["audience"]]
        prompt = sys.stdin.read() if options["prompt"] == "-" else options["prompt"]
        if not prompt.strip():
            raise CommandError("The question is empty.", returncode=UNUSABLE)
        server = server_for(options)
        backend, request = backend_for(server), request_for(server, options, prompt)
        asked, screen = AnswerSoFar(), _Screen(self, audience)
        with contextlib.suppress(KeyboardInterrupt):  # what has arrived so far is shown below
            asyncio.run(asked.run(backend, request, (lambda _: None) if options["json"] else screen.see))
        if options["json"]:
            self.stdout.write(json.dumps(_summary(asked, audience)))
        else:
            screen.end()
            self._complain(asked, audience)
        if code := EXIT_CODES[asked.status] or (NO_ANSWER if asked.code else 0):
            sys.exit(code)

    def _complain(self, asked: AnswerSoFar, audience: Audience) -> None:
        if asked.code:
            self.stderr.write(f"{asked.code}: {asked.code.sentence}")
        if asked.error and asked.error.detail and audience is Audience.DEBUG:
            self.stderr.write(harmless(asked.error.detail))
        if asked.ended and asked.ended.turns_left_out:
            self.stderr.write(f"The oldest {asked.ended.turns_left_out} turns did not fit and were left out.")


class _Screen:
    """Writes visible events to the terminal, as they arrive."""

    def __init__(self, command: BaseCommand, audience: Audience) -> None:
        self._out = command.stdout
        self._gate = Gate(audience)
        self._is_first = True
        self._at_line_start = True

    def see(self, event: RawEvent) -> None:
        match self._gate.admit(event):
            case VisibleOpened(header=header):
                self._write("" if self._is_first else "\n" if self._at_line_start else "\n\n")
                self._is_first = False
                if self._gate.audience is Audience.DEBUG:
                    said = " ".join(value if name == "role" else f"{name}={value}" for name, value in header.as_written().items())
                    self._write(f"── {said}\n")
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
            self._out.write(harmless(text), ending="")
            self._out.flush()


def _summary(asked: AnswerSoFar, audience: Audience) -> dict[str, object]:
    return {"status": asked.status, "visible": asked.visible(audience), "tool_calls": asked.tool_calls, "error": asked.code}
