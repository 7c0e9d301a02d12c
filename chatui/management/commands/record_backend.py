"""``manage.py record_backend``: records the raw bytes of one exchange with a model server, for tests to replay."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.backends.recording import KeyQuotedError, Recorder
from chatui.operations.one_question import UNUSABLE, AnswerSoFar, add_server_arguments, backend_for, request_for, server_for
from renderer.characters import safe_for_terminal

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
FAILED = 3


class Command(BaseCommand):
    """Writes NAME.req.json, NAME.sse (or .json, .txt) and NAME.meta.json. Exit codes: 0 written, 2 nothing was sent, 3 no exchange."""

    help = "Record a real exchange with a model server for tests. The operator's instructions are sent and recorded too."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_server_arguments(parser)
        parser.add_argument(
            "--out", required=True, type=Path, metavar="DIR", help="directory of the recordings, such as tests/recordings/vllm"
        )
        parser.add_argument("--force", action="store_true", help="overwrite an existing recording")
        parser.add_argument("name", metavar="NAME", help="name of the recording")
        parser.add_argument("prompt", metavar="PROMPT", help="the question, or - for standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        name, place = options["name"], options["out"]
        if not _NAME.fullmatch(name):
            raise CommandError("NAME may hold letters, digits, dots, hyphens and underscores.", returncode=UNUSABLE)
        if not options["force"] and (place / f"{name}.req.json").exists():
            raise CommandError(f"Recording {name} already exists. Use --force to overwrite it.", returncode=UNUSABLE)
        prompt = sys.stdin.read() if options["prompt"] == "-" else options["prompt"]
        server = server_for(options)
        backend = backend_for(server, read_interval=0.001)
        try:
            recorder = Recorder(backend)
        except ValueError as error:
            raise CommandError(f"There is nothing to record: {error}.", returncode=UNUSABLE) from error
        answer = AnswerSoFar()
        asyncio.run(answer.run(backend, request_for(server, options, prompt), lambda _: None))
        if recorder.exchange is None or not recorder.exchange.status:
            detail = answer.error.detail if answer.error else ""
            raise CommandError(f"The server did not answer. {safe_for_terminal(detail)}".strip(), returncode=FAILED)
        try:
            files = recorder.exchange.files(server.key)
        except KeyQuotedError as error:
            raise CommandError("The exchange contains the key, so nothing was written.", returncode=FAILED) from error
        place.mkdir(parents=True, exist_ok=True)
        for suffix, content in files.items():
            (place / f"{name}{suffix}").write_bytes(content)
        status = f"{answer.status}{f', {answer.code}' if answer.code else ''}"
        self.stdout.write(f"{place / name}: HTTP {recorder.exchange.status}, {len(recorder.exchange.raw)} bytes; read as {status}.")
