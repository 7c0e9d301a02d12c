"""Converts a doctor's report into a form to store, and that into a form for a page: only known names and numbers, no text of a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from chatui.doctor.faults import Fault, Finding, Level
from chatui.doctor.report import FormatReport, Report

PRODUCTS = ("llama.cpp", "vLLM", "Ollama", "SGLang", "LiteLLM")
_SAFE_EVIDENCE = frozenset(
    {
        Fault.BROKEN_OFF,
        Fault.BUSY,
        Fault.CONTEXT_SMALL,
        Fault.FAILED,
        Fault.IDS_INCOMPLETE,
        Fault.IDS_MISSING,
        Fault.KEY_MISSING,
        Fault.KEY_REFUSED,
        Fault.MODEL_UNKNOWN,
        Fault.NO_STREAM,
        Fault.OUT_OF_TIME,
        Fault.READERS_DIFFER,
        Fault.READ_ONCE,
        Fault.REFUSED,
        Fault.SILENT,
        Fault.SLOW_FIRST,
        Fault.UNREACHABLE,
    }
)
"""Faults whose evidence consists only of our words and numbers.

The evidence of other faults may contain names that a server gives itself or its models.
"""
_MAX_CONTEXT, _SEEN_CHARS = 1_000_000_000, 400
"""The largest context size and the longest evidence that are stored: a server can report numbers of any length."""
VERDICTS = {
    Level.NOTE: _("Healthy with these settings."),
    Level.FAULT: _("It works with these settings, but with the faults listed below."),
    Level.UNASKED: _("It could not be queried."),
    Level.UNUSABLE: _("It cannot be used with these settings."),
    Level.LEAK: _("Do not use it with these settings: people would see hidden text."),
}
LEVELS = {
    Level.NOTE: pgettext_lazy("a finding", "Note"),
    Level.FAULT: pgettext_lazy("a finding", "Fault"),
    Level.UNASKED: pgettext_lazy("a finding", "Not examined"),
    Level.UNUSABLE: pgettext_lazy("a finding", "Unusable"),
    Level.LEAK: pgettext_lazy("a finding", "Leak"),
}


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding for the page. ``level`` is in the language of the page, the other texts are in English, as the doctor reports them.

    ``is_bad``: more serious than a note. ``seen``: the evidence.
    """

    fault: str
    level: str
    is_bad: bool
    sentence: str
    advice: str
    seen: str


@dataclass(frozen=True, slots=True)
class ShownFormat:
    """The result for a wire format. ``first_seconds``: the shortest wait for the first word, None if none arrived."""

    kind: str
    is_configured: bool
    was_tried: bool
    works: bool
    first_seconds: float | None
    findings: tuple[ShownFinding, ...]


@dataclass(frozen=True, slots=True)
class ShownReport:
    """A report for the page.

    ``product`` is empty if the server does not identify itself, ``is_gpt_oss`` None if unknown, and ``best`` empty if no format works.
    """

    verdict: str
    level: Level
    is_bad: bool
    product: str
    is_gpt_oss: bool | None
    context: int | None
    best: str
    is_best_configured: bool
    seconds: float
    general: tuple[ShownFinding, ...]
    formats: tuple[ShownFormat, ...]


def to_stored(reports: Sequence[Report], of: str) -> dict[str, Any]:
    """The reports of a server's addresses as plain values for JSON. ``of``: a digest of the server's configuration at that time."""
    first, *others = [_stored_report(report) for report in reports]
    return first | {"others": others, "of": of}


def from_stored(stored: dict[str, Any]) -> tuple[ShownReport, ...]:
    """The reports for a page, one for each address. Findings that only another release knows are omitted."""
    return tuple(_shown(each) for each in (stored, *stored.get("others", ())))


def _shown(stored: dict[str, Any]) -> ShownReport:
    level = Level(stored["level"])
    return ShownReport(
        str(VERDICTS[level]),
        level,
        level > Level.NOTE,
        stored["product"],
        stored["gpt_oss"],
        stored["context"],
        stored["best"],
        stored["best"] == stored["configured"],
        stored["seconds"],
        tuple(_findings(stored["general"])),
        tuple(
            ShownFormat(
                one["kind"],
                one["kind"] == stored["configured"],
                one["tried"],
                one["works"],
                one["first_seconds"],
                tuple(_findings(one["findings"])),
            )
            for one in stored["formats"]
        ),
    )


def _stored_report(report: Report) -> dict[str, Any]:
    identity, best = report.identity, report.best
    return {
        "level": report.level.value,
        "product": identity.product if identity.product in PRODUCTS else "",
        "gpt_oss": identity.is_gpt_oss,
        "context": identity.context if 0 < (identity.context or 0) <= _MAX_CONTEXT else None,
        "configured": report.configured,
        "best": best.kind if best else "",
        "seconds": round(report.seconds, 1),
        "general": [_stored_finding(finding) for finding in report.general],
        "formats": [_stored_format(one) for one in report.formats],
    }


def _stored_finding(finding: Finding) -> list[str | int]:
    return [finding.fault.value, finding.level.value, finding.seen[:_SEEN_CHARS] if finding.fault in _SAFE_EVIDENCE else ""]


def _stored_format(one: FormatReport) -> dict[str, Any]:
    first = None if one.first_seconds is None else round(one.first_seconds, 2)
    findings = [_stored_finding(finding) for finding in one.findings]
    return {"kind": one.kind, "tried": not one.not_tried, "works": one.works, "first_seconds": first, "findings": findings}


def _findings(stored: list[list[Any]]) -> Iterator[ShownFinding]:
    known = set(Fault)
    for name, number, seen in stored:
        if name in known:
            fault, level = Fault(name), Level(number)
            yield ShownFinding(fault.value, str(LEVELS[level]), level > Level.NOTE, fault.sentence, fault.advice, seen)
