"""Commands that check, convert and show a transcript, shared by ``python -m renderer`` and ``manage.py transcript``.

Anybody with a shell is the operator, so nothing here is audited, and ``--as staff`` shows hidden frames.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from renderer.characters import safe_for_terminal
from renderer.errors import OpenChatMLError, Problem
from renderer.events import Finished
from renderer.formats import Format, Source, VocabularySource, read, write
from renderer.frames import Frame
from renderer.gate import Audience, may_see, show
from renderer.harmony.hip1 import SideRecord
from renderer.harmony.vocabulary import VocabularyError
from renderer.ocml import document
from renderer.ocml.scanning import ProblemFound

if TYPE_CHECKING:
    SubCommands = argparse._SubParsersAction[argparse.ArgumentParser]

PIECE_BYTES = 64 * 1024
GOOD = 0
BROKEN = 1
UNUSABLE = 2
DIFFERENT = 3
FLAGGED = 4
MAX_BUFFERED_BYTES = 4 << 20
"""Larger OpenChatML text is checked while it is read, without holding all of it in memory."""

_AUDIENCES = {"end-user": Audience.END_USER, "staff": Audience.DEBUG}


Content = Callable[[], tuple[Frame, ...]]
"""Reads the frames of the checked file once more."""


class SecondParse(Protocol):
    """The result of reading an accepted transcript with a second parser. ``is_bad``: the results differ unexpectedly."""

    @property
    def is_bad(self) -> bool: ...

    def as_json(self) -> dict[str, object]:
        """The result as a JSON object."""

    def lines(self) -> Iterator[str]:
        """The result as lines for people."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where the command writes. ``vocabulary`` is called only if token ids are read or written.

    ``second_opinion``, if given, is called by ``check``; with None if the file is too large to read twice.
    """

    out: Callable[[str], object]
    err: Callable[[str], object]
    vocabulary: VocabularySource
    second_opinion: Callable[[Content | None], SecondParse] | None = None


class _UnusableError(Exception):
    """A file could not be opened; the message is for the operator."""


def add_arguments(parser: argparse.ArgumentParser) -> SubCommands:
    """Add the sub-commands ``check``, ``convert`` and ``show``. Returns what others can be added to."""
    formats = [name.value for name in Format]
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("file", metavar="FILE", help="a file, or - for standard input")
    common.add_argument("--from", dest="format", choices=formats, default=Format.OPENCHATML.value, help="format of FILE (openchatml)")
    common.add_argument("--fragment", action="store_true", help="frames without a document header")
    common.add_argument("--side-record", metavar="PATH", help="side record for a Harmony format: read with --from, written with --to")
    common.add_argument("--conversation", action="store_true", help="the Harmony text is a whole conversation, not a completion")
    parts = parser.add_subparsers(dest="what", required=True, parser_class=argparse.ArgumentParser)
    check = parts.add_parser("check", parents=[common], help="report problems and their positions")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.add_argument("--fail-on-flags", action="store_true", help="exit with 4 if the file is valid but has flags")
    check.add_argument("--no-second-reader", action="store_true", help="do not compare with a second reader")
    convert = parts.add_parser("convert", parents=[common], help="convert it to another format")
    convert.add_argument("--to", choices=formats, required=True)
    convert.add_argument("--fold-thinking", action="store_true", help="JSON: write analysis as a key of the next message")
    shown = parts.add_parser("show", parents=[common], help="show what an audience may see of it")
    shown.add_argument("--as", dest="audience", choices=list(_AUDIENCES), default="end-user")
    shown.add_argument("--json", action="store_true", help="print one JSON object per message: role, channel, intent, text")
    return parts


def run(options: Mapping[str, Any], terminal: Terminal) -> int:
    """Run the command in ``options``.

    Returns the exit code: 0 good, 1 the transcript breaks a rule, 2 it could not be read at all, 3 it is accepted, but a second parser
    reads it differently, and the difference is not a known one; 4 as 0, but something is flagged, and ``--fail-on-flags`` was given.
    """
    try:
        return _COMMANDS[options["what"]](options, terminal)
    except OpenChatMLError as error:
        terminal.err(_line(options["file"], error.problem))
        return BROKEN
    except (_UnusableError, VocabularyError) as error:
        terminal.err(f"{error}\n")
        return UNUSABLE


def _check(options: Mapping[str, Any], terminal: Terminal) -> int:
    report, content = _streamed_report(options) if options["format"] == Format.OPENCHATML else _whole_report(options, terminal)
    opinion = None
    if report.is_accepted and terminal.second_opinion and not options["no_second_reader"]:
        opinion = terminal.second_opinion(content)
    if options["json"]:
        compared = {"second_reader": opinion and opinion.as_json()} if terminal.second_opinion else {}
        terminal.out(json.dumps(_report_as_json(report) | compared) + "\n")
    else:
        for line in (
            *_report_lines(options["file"], report),
            *(f"{options['file']}: {line}" for line in (opinion.lines() if opinion else ())),
        ):
            terminal.out(f"{line}\n")
    if not report.is_accepted:
        return BROKEN
    if opinion and opinion.is_bad:
        return DIFFERENT
    return FLAGGED if options["fail_on_flags"] and not report.is_clean else GOOD


def _report_lines(name: str, report: document.Report) -> Iterator[str]:
    yield from (_line(name, problem).removesuffix("\n") for problem in report.problems)
    if report.count > len(report.problems):
        yield f"{name}: and {report.count - len(report.problems)} more"
    yield f"{name}: {_verdict(report)}"


def _streamed_report(options: Mapping[str, Any]) -> tuple[document.Report, Content | None]:
    """Check OpenChatML text while it is read. The text is retained for the second parser if it is short enough."""
    buffered = bytearray()

    def buffering(pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            if len(buffered) <= MAX_BUFFERED_BYTES:
                buffered.extend(piece)
            yield piece

    with _opened(options["file"]) as file:
        report = document.check(buffering(_pieces(file)), fragment=options["fragment"])
    if len(buffered) > MAX_BUFFERED_BYTES:
        return report, None
    return report, lambda: document.read_leniently(bytes(buffered), fragment=options["fragment"]).transcript.frames


def _whole_report(options: Mapping[str, Any], terminal: Terminal) -> tuple[document.Report, Content | None]:
    try:
        whole = read(_source(options), terminal.vocabulary, lenient=True)
    except OpenChatMLError as error:
        return document.Report(None, 0, (error.problem,), 1, 1), None
    found = whole.finished
    if options["format"] == Format.JSON:
        refused, first = sum(problem.is_refused for problem in whole.problems), whole.problems[: document.PROBLEM_LIMIT]
        return document.Report(None, len(found), first, len(whole.problems), refused), lambda: whole.transcript.frames
    repaired = "the frame was repaired, or is hidden, because of this"
    problems = tuple(
        Problem(item.error, repaired if item.complete else "the frame is incomplete", item.location) for item in found if item.error
    )
    return document.Report(None, len(found), problems, len(problems), len(problems)), lambda: tuple(item.frame for item in found)


def _verdict(report: document.Report) -> str:
    flagged = report.count - report.refused
    words = ["accepted" if report.is_accepted else "refused", _counted(report.frames, "frame")]
    return ", ".join([*words, f"{flagged} flagged"] if flagged else words)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _report_as_json(report: document.Report) -> dict[str, object]:
    problems = [_problem_as_json(problem) for problem in report.problems]
    return {"accepted": report.is_accepted, "clean": report.is_clean, "frames": report.frames, "problems": problems}


def _problem_as_json(problem: Problem) -> dict[str, object]:
    location = problem.location
    where = {"offset": location.offset, "line": location.line, "column": location.column, "frame": location.frame} if location else {}
    return {"code": problem.code, "refused": problem.is_refused, "hint": problem.hint, **where}


def _convert(options: Mapping[str, Any], terminal: Terminal) -> int:
    transcript = read(_source(options), terminal.vocabulary).transcript
    text, record = write(transcript, Format(options["to"]), terminal.vocabulary, fold_thinking=options["fold_thinking"])
    if record is not None and options["side_record"]:
        Path(options["side_record"]).write_text(record.to_json(), encoding="utf-8")
    elif record is not None:
        terminal.err("Harmony cannot represent call ids, intents and names. --side-record PATH stores them.\n")
    terminal.out(text)
    return GOOD


def _show(options: Mapping[str, Any], terminal: Terminal) -> int:
    audience = _AUDIENCES[options["audience"]]
    for item in _frames(options, terminal):
        if may_see(item.frame.header, audience):
            terminal.out((_shown_json if options["json"] else _shown)(item.frame, audience) + "\n")
    return GOOD


_COMMANDS: dict[str, Callable[[Mapping[str, Any], Terminal], int]] = {"check": _check, "convert": _convert, "show": _show}


def _frames(options: Mapping[str, Any], terminal: Terminal) -> Iterator[Finished]:
    """Frames as they arrive: OpenChatML is shown while it is still being read."""
    if options["format"] != Format.OPENCHATML:
        yield from read(_source(options), terminal.vocabulary).finished
        return
    reader = document.FrameReader(lenient=True, fragment=options["fragment"])
    with _opened(options["file"]) as file:
        for piece in _pieces(file):
            yield from _finished(options["file"], reader.feed(piece), terminal)
        yield from _finished(options["file"], reader.finish(), terminal)


def _finished(name: str, events: list[document.FrameEvent], terminal: Terminal) -> Iterator[Finished]:
    for event in events:
        if isinstance(event, ProblemFound):
            terminal.err(_line(name, event.problem))
        elif isinstance(event, Finished):
            yield event


def _source(options: Mapping[str, Any]) -> Source:
    record = None
    if options["side_record"] and options["format"] in (Format.HARMONY, Format.HARMONY_TOKENS):
        with _opened(options["side_record"]) as file:
            record = SideRecord.from_json(file.read().decode("utf-8", "replace"))
    with _opened(options["file"]) as file:
        data = file.read()
    return Source(Format(options["format"]), data, record, options["conversation"], options["fragment"])


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - closed below; only opening it may fail in this way
    except OSError as error:
        raise _UnusableError(f"{name}: {error.strerror}") from error
    with file:
        yield file


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    # read1 returns what is available, so that a pipe is read while it is written.
    while piece := file.read1(PIECE_BYTES):  # type: ignore[attr-defined]
        yield piece


def _line(name: str, problem: Problem) -> str:
    location = f":{problem.location.line}:{problem.location.column}" if problem.location else ""
    frame = f" (frame {problem.location.frame})" if problem.location and problem.location.frame is not None else ""
    flag = "" if problem.is_refused else "flagged: "
    return f"{name}{location}: {flag}{problem.code}: {problem.hint}{frame}\n"


def _shown_json(frame: Frame, audience: Audience) -> str:
    header = frame.header
    return json.dumps({"role": header.role, "channel": header.channel, "intent": header.intent, "text": show(frame, audience)})


def _shown(frame: Frame, audience: Audience) -> str:
    header = " ".join(value if name == "role" else f"{name}={value}" for name, value in frame.header.as_written().items())
    return f"── {header}\n{safe_for_terminal(show(frame, audience))}\n"
