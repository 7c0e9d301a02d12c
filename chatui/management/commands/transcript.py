"""``manage.py transcript check|convert|show``: the format on the command line, for people who want nothing else of the product.

The shell is the operator's: nothing here is audited, and ``--as staff`` shows hidden frames.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.env import environment
from chatui.management.terminal import harmless
from chatui.model_servers import vocabulary
from renderer.errors import OpenChatMLError, Problem
from renderer.events import Finished
from renderer.formats import Form, Source, read, write
from renderer.frames import Frame
from renderer.gate import Audience, may_see, show
from renderer.harmony.side_record import SideRecord
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from renderer.ocml import document

PIECE_BYTES = 64 * 1024
BROKEN = 1
UNUSABLE = 2

_AUDIENCES = {"end-user": Audience.END_USER, "staff": Audience.DEBUG}


class Command(BaseCommand):
    """Exit codes: 0 good, 1 the transcript breaks a rule (and where), 2 it could not be read at all."""

    help = "Check, convert or show a transcript. FILE may be - for standard input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """One sub-command for each thing that can be done."""
        forms = [form.value for form in Form]
        common = argparse.ArgumentParser(add_help=False)
        common.add_argument("file", metavar="FILE", help="a file, or - for standard input")
        common.add_argument("--from", dest="form", choices=forms, default=Form.OPENCHATML.value, help="form of FILE (openchatml)")
        common.add_argument("--fragment", action="store_true", help="frames without a document header")
        common.add_argument("--side-record", metavar="PATH", help="side record beside a Harmony form: read with --from, written with --to")
        common.add_argument("--conversation", action="store_true", help="the Harmony form is a whole conversation, not a completion")
        parts = parser.add_subparsers(dest="what", required=True, parser_class=argparse.ArgumentParser)
        check = parts.add_parser("check", parents=[common], help="say what is wrong in it, and where")
        check.add_argument("--json", action="store_true", help="one JSON object")
        convert = parts.add_parser("convert", parents=[common], help="write it in another form")
        convert.add_argument("--to", choices=forms, required=True)
        convert.add_argument("--fold-thinking", action="store_true", help="JSON: analysis as a key of the message behind it")
        shown = parts.add_parser("show", parents=[common], help="what an audience may see of it")
        shown.add_argument("--as", dest="audience", choices=list(_AUDIENCES), default="end-user")
        shown.add_argument("--json", action="store_true", help="one JSON object for each message: role, channel, intent, text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it."""
        try:
            getattr(self, f"_{options['what']}")(options)
        except OpenChatMLError as error:
            self.stderr.write(_line(options["file"], error.problem))
            sys.exit(BROKEN)
        except VocabularyError as error:
            raise CommandError(str(error), returncode=UNUSABLE) from error

    def _check(self, options: dict[str, Any]) -> None:
        if options["form"] == Form.OPENCHATML:
            with _opened(options["file"]) as file:
                report = document.check(_pieces(file), fragment=options["fragment"])
            problems, frames, is_valid = report.problems, report.frames, report.is_valid
            more = report.count - len(problems)
        else:
            problems, frames, is_valid, more = *self._checked_whole(options), 0
        if options["json"]:
            said = {"valid": is_valid, "frames": frames, "problems": [_as_json(problem) for problem in problems]}
            self.stdout.write(json.dumps(said))
        else:
            for problem in problems:
                self.stdout.write(_line(options["file"], problem))
            if more:
                self.stdout.write(f"{options['file']}: and {more} more")
            self.stdout.write(f"{options['file']}: {'valid' if is_valid else 'not valid'}, {frames} frame{'' if frames == 1 else 's'}")
        if not is_valid:
            sys.exit(BROKEN)

    def _checked_whole(self, options: dict[str, Any]) -> tuple[tuple[Problem, ...], int, bool]:
        try:
            found = read(_source(options), _vocabulary).finished
        except OpenChatMLError as error:
            return (error.problem,), 0, False
        problems = [
            Problem(
                item.error,
                "the frame was repaired, or is hidden, because of this" if item.complete else "the frame is not whole",
                item.place,
            )
            for item in found
            if item.error
        ]
        return tuple(problems), len(found), not problems

    def _convert(self, options: dict[str, Any]) -> None:
        transcript = read(_source(options), _vocabulary).transcript
        text, record = write(transcript, Form(options["to"]), _vocabulary, fold_thinking=options["fold_thinking"])
        if record is not None and options["side_record"]:
            Path(options["side_record"]).write_text(record.to_json(), encoding="utf-8")
        elif record is not None:
            self.stderr.write("Harmony has no place for call ids, intents and names. --side-record PATH keeps them.")
        self.stdout.write(text, ending="")

    def _show(self, options: dict[str, Any]) -> None:
        audience = _AUDIENCES[options["audience"]]
        for item in self._frames(options):
            if may_see(item.frame.header, audience):
                self.stdout.write(_shown_json(item.frame, audience) if options["json"] else _shown(item.frame, audience))

    def _frames(self, options: dict[str, Any]) -> Iterator[Finished]:
        """Frames as they come: OpenChatML is shown while it is still being read."""
        if options["form"] != Form.OPENCHATML:
            yield from read(_source(options), _vocabulary).finished
            return
        reader = document.FrameReader(lenient=True, fragment=options["fragment"])
        with _opened(options["file"]) as file:
            for piece in _pieces(file):
                yield from self._told(options["file"], reader.feed(piece))
            yield from self._told(options["file"], reader.finish())

    def _told(self, name: str, events: list[document.FrameEvent]) -> Iterator[Finished]:
        for event in events:
            if isinstance(event, document.ProblemFound):
                self.stderr.write(_line(name, event.problem))
            elif isinstance(event, Finished):
                yield event


def _source(options: dict[str, Any]) -> Source:
    record = None
    if options["side_record"] and options["form"] in (Form.HARMONY, Form.HARMONY_TOKENS):
        with _opened(options["side_record"]) as file:
            record = SideRecord.from_json(file.read().decode("utf-8", "replace"))
    with _opened(options["file"]) as file:
        data = file.read()
    return Source(Form(options["form"]), data, record, options["conversation"], options["fragment"])


def _vocabulary() -> Vocabulary:
    return vocabulary.load(environment().data_dir)


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - closed below; only opening it may fail in this way
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}", returncode=UNUSABLE) from error
    with file:
        yield file


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    # read1 gives what is there: a pipe is read as it is written.
    while piece := file.read1(PIECE_BYTES):  # type: ignore[attr-defined]
        yield piece


def _line(name: str, problem: Problem) -> str:
    place = f":{problem.place.line}:{problem.place.column}" if problem.place else ""
    frame = f" (frame {problem.place.frame})" if problem.place and problem.place.frame is not None else ""
    return f"{name}{place}: {problem.code}: {problem.hint}{frame}"


def _as_json(problem: Problem) -> dict[str, object]:
    place = problem.place
    where = {"offset": place.offset, "line": place.line, "column": place.column, "frame": place.frame} if place else {}
    return {"code": problem.code, "hint": problem.hint, **where}


def _shown_json(frame: Frame, audience: Audience) -> str:
    header = frame.header
    return json.dumps({"role": header.role, "channel": header.channel, "intent": header.intent, "text": show(frame, audience)})


def _shown(frame: Frame, audience: Audience) -> str:
    header = " ".join(value if name == "role" else f"{name}={value}" for name, value in frame.header.as_written().items())
    return f"── {header}\n{harmless(show(frame, audience))}\n"
