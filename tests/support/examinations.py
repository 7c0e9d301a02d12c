"""Examinations of model servers: what ``manage.py doctor`` prints of one, as text and as the object of ``--json``, and what is stored."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

from chatui.codes import Cause, Fault
from chatui.operations.doctor import runs
from chatui.operations.doctor.examination import ExaminedServer, examine
from chatui.operations.doctor.faults import DetectedFault, Level, ServerFault
from chatui.operations.doctor.identity import ServerIdentity
from chatui.operations.doctor.report import DoctorReport, FormatReport, as_json, as_text
from chatui.operations.doctor.trial import Questions
from renderer.harmony.vocabulary import Vocabulary, VocabularyError

FAULTS: tuple[Fault, ...] = tuple(ServerFault)
"""Every fault of answers that a report can name."""
EXIT_CODES = {"note": 0, "fault": 1, "unasked": 2, "unusable": 3, "leak": 3}
"""By the worst finding about a server as it is configured."""


@dataclass(frozen=True, slots=True)
class Words:
    """The marker words of the questions. ``thought`` belongs in the reasoning only, ``first`` ends the announcement, ``last`` begins the
    answer."""

    thought: str
    first: str
    last: str


WORDS = Words(thought="heron-1111", first="lynx-2222", last="otter-3333")


def _questions() -> Questions:
    return Questions(thought=WORDS.thought, first=WORDS.first, last=WORDS.last)


def ask_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every examination asks with ``WORDS``, so that an answer that was written before can have them."""
    monkeypatch.setattr(Questions, "new", _questions)


def fault(name: str) -> Fault:
    """The fault of this name, with its sentence and its advice."""
    return next(each for each in FAULTS if each == name)


@dataclass(frozen=True)
class Examined:
    """A report."""

    as_json: dict[str, Any]
    text: str
    everything: str = field(repr=False)
    """All that can be printed of it, and of what was examined."""
    stored: dict[str, Any]
    """What is stored of it for a page."""
    seconds: float

    @cached_property
    def found(self) -> dict[str, str]:
        """The level of each fault of the model server as it is configured."""
        configured = [
            finding for one in self.as_json["formats"] if one["kind"] == self.as_json["configured"] for finding in one["findings"]
        ]
        return {finding["fault"]: finding["level"] for finding in (*self.as_json["findings"], *configured)}

    @cached_property
    def found_by_format(self) -> dict[str, dict[str, str]]:
        """The same of each wire format."""
        return {one["kind"]: {each["fault"]: each["level"] for each in one["findings"]} for one in self.as_json["formats"]}

    def detail_of(self, fault: str) -> dict[str, str]:
        """What is printed of a fault of answers: ``seen``, ``advice`` and so on."""
        return next(each for one in self.as_json["formats"] for each in one["findings"] if each["fault"] == fault)

    def why_not_tried(self, kind: str) -> str:
        """Why no question was asked in this format; empty if some were."""
        return next(one["why_not_tried"] for one in self.as_json["formats"] if one["kind"] == kind)

    @property
    def exit_code(self) -> int:
        return self.as_json["exit"]  # type: ignore[no-any-return]

    @property
    def best(self) -> str | None:
        """The best wire format; None if none works."""
        return self.as_json["best"]  # type: ignore[no-any-return]


async def examined(url: str, *, vocabulary: Vocabulary | None = None, seconds: float = 20.0, **server: Any) -> Examined:
    """Examine the server at this address with ``WORDS``. ``vocabulary``: None if none is installed; ``server``: as in
    ``ExaminedServer``."""

    def load() -> Vocabulary:
        if vocabulary is None:
            raise VocabularyError("not here")
        return vocabulary

    target = ExaminedServer("here", url, load, **server)
    report = await examine(target, seconds=seconds, questions=_questions())
    return _examined(report, repr(target))


def _examined(report: DoctorReport, target: str = "") -> Examined:
    printed = as_json(report)
    everything = as_text(report) + json.dumps(printed) + repr(report) + target
    return Examined(printed, as_text(report), everything, runs.to_stored([report], "mark"), report.seconds)


def note_all(monkeypatch: pytest.MonkeyPatch) -> list[Examined]:
    """What staff find out from now on, with all that their page does not show."""
    noted: list[Examined] = []

    async def examine_and_note(*given: Any, **named: Any) -> DoctorReport:
        report = await examine(*given, **named)
        noted.append(_examined(report))
        return report

    monkeypatch.setattr(runs, "examine", examine_and_note)
    return noted


def until_ended() -> None:
    """Wait for the examinations that run in this process."""
    for each in threading.enumerate():
        if each.name.startswith("examination of"):
            each.join(20)


Finding = tuple[str, str, str]
"""The name of a fault, its level, and what was seen of it."""


def stored(
    *, general: Sequence[Finding] = (), formats: Mapping[str, Sequence[Finding]] = {}, said: str = "", context: int | None = None
) -> dict[str, Any]:
    """What is stored of a report with these findings, and those of each of the ``formats``; one without any was not tried. ``said``: what
    the server says wherever it may say something, also of itself; ``context``: in tokens."""
    identity = ServerIdentity("place", said or None, said or None, (said,) if said else (), said or None, context, True, said)
    reports = tuple(FormatReport(kind, _findings(found), "" if found else said) for kind, found in formats.items())
    return runs.to_stored([DoctorReport("one", "chat", identity, _findings(general), reports)], "mark")


def _findings(given: Sequence[Finding]) -> tuple[DetectedFault, ...]:
    known: dict[str, Fault] = {fault.value: fault for fault in (*Cause, *ServerFault)}
    return tuple(DetectedFault(known[name], Level[level.upper()], seen) for name, level, seen in given)
