"""The result of an examination: which wire format fits the server best, and the report.

The report is text for a terminal or JSON for a script. It quotes no model output.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from chatui.backends.spec import BackendSpec
from chatui.codes import Cause
from chatui.operations.doctor.faults import DetectedFault, Level, worst
from chatui.operations.doctor.identity import ServerIdentity

_RANK = {"harmony": 0, "responses": 1, "chat": 2}
_WHY = {
    "harmony": "Token ids distinguish a real marker from a quoted one, and a preamble from the answer, exactly",
    "responses": "Each message and each piece of reasoning arrives as a separate item",
    "chat": "It works, and no more precise wire format that could be tested works as well",
}


@dataclass(frozen=True, slots=True)
class FormatReport:
    """The findings about one wire format."""

    kind: str
    """As it is configured."""
    findings: tuple[DetectedFault, ...] = ()
    not_tried: str = ""
    """Why it was not tried; then there are no findings."""
    first_seconds: float | None = None
    """The shortest wait for the first word; None if none arrived."""

    @property
    def level(self) -> Level:
        return worst(self.findings)

    @property
    def works(self) -> bool:
        """Whether people would get answers without hidden text."""
        return not self.not_tried and self.level in (Level.NOTE, Level.FAULT)

    @property
    def is_supported(self) -> bool:
        """Whether the server supports it at all, as far as is known."""
        return all(finding.fault is not Cause.KIND_NOT_SPOKEN for finding in self.findings)

    @property
    def family(self) -> str:
        return self.kind.split("-")[0]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The report on one address of a model server."""

    name: str
    configured: str
    identity: ServerIdentity
    general: tuple[DetectedFault, ...] = ()
    """Findings that are about no wire format."""
    formats: tuple[FormatReport, ...] = ()
    """The configured one first."""
    seconds: float = field(default=0.0, compare=False)
    address: tuple[int, int] = (1, 1)
    """Which of how many addresses of that model server this is."""

    @property
    def level(self) -> Level:
        """The worst finding about the model server as configured. Faults of other wire formats do not count."""
        mine = [finding for report in self.formats if report.kind == self.configured for finding in report.findings]
        return worst((*self.general, *mine))

    @property
    def shown_formats(self) -> tuple[FormatReport, ...]:
        """The wire formats, in which the findings are marked that a reader knows from an earlier one, or in general."""
        known, shown = {finding.fault for finding in self.general}, []
        for one in self.formats:
            shown.append(replace(one, findings=tuple(replace(each, is_known=each.fault in known) for each in one.findings)))
            known |= {finding.fault for finding in one.findings}
        return tuple(shown)

    @property
    def best(self) -> FormatReport | None:
        """The best wire format: the one with the least serious findings, and among equals the most precise. None if none works."""
        working = [report for report in self.formats if report.works]
        return min(working, key=lambda report: (report.level, _RANK[report.family]), default=None)

    @property
    def why_best(self) -> str:
        """Why it is the best, in a sentence or two; empty if there is none."""
        best = self.best
        if best is None:
            return ""
        spared = _spared(best, self.formats)
        return f"{_WHY[best.family]}.{f' It avoids faults of others: {spared}.' if spared else ''}"


def unasked(spec: BackendSpec, cause: Cause, seen: str = "") -> DoctorReport:
    """The report on a model server that could not be asked."""
    return DoctorReport(spec.name, spec.kind, ServerIdentity(spec.url), (DetectedFault(cause, Level.UNASKED, seen),))


def _spared(best: FormatReport, formats: Sequence[FormatReport]) -> str:
    """The faults that only the other formats have, in a few words."""
    mine = {finding.fault for finding in best.findings}
    faults = [
        f"{report.kind} ({', '.join(names)})"
        for report in formats
        if report.kind != best.kind
        and report.is_supported
        and (names := _names(finding for finding in report.findings if finding.fault not in mine))
    ]
    return " and ".join(faults)


def _names(findings: Iterable[DetectedFault]) -> list[str]:
    return sorted({finding.fault.value for finding in findings if finding.level > Level.NOTE})


_WIDTH = 110
_VERDICTS = {
    Level.NOTE: "Healthy as configured.",
    Level.FAULT: "It works as configured, with the faults listed.",
    Level.UNASKED: "It could not be queried.",
    Level.UNUSABLE: "It cannot be used as configured.",
    Level.LEAK: "Do not use it as configured: people would see hidden text.",
}
_LEVELS = {Level.NOTE: "note", Level.FAULT: "fault", Level.UNASKED: "not asked", Level.UNUSABLE: "unusable", Level.LEAK: "LEAK"}


def as_text(report: DoctorReport) -> str:
    """The report as lines of text. Names that the server sent are included unchanged."""
    return "\n".join(_lines(report))


def as_json(report: DoctorReport) -> dict[str, object]:
    """One object of plain values. ``level`` and ``fault`` come from closed lists; ``exit`` is this model server's own exit code."""
    identity, best = report.identity, report.best
    return {
        "name": report.name,
        "place": identity.host,
        "address": list(report.address),
        "product": identity.product,
        "version": identity.version,
        "models": list(identity.models),
        "model": identity.model,
        "gpt_oss": identity.is_gpt_oss,
        "context": identity.context,
        "configured": report.configured,
        "findings": [_finding(finding) for finding in report.general],
        "formats": [_format(one) for one in report.formats],
        "best": best.kind if best else None,
        "why": report.why_best,
        "exit": report.level.exit_code,
    }


def _format(report: FormatReport) -> dict[str, object]:
    return {
        "kind": report.kind,
        "tried": not report.not_tried,
        "works": report.works,
        "first_seconds": report.first_seconds,
        "findings": [_finding(finding) for finding in report.findings],
        "why_not_tried": report.not_tried,
    }


def _finding(finding: DetectedFault) -> dict[str, str]:
    return {
        "fault": finding.fault.value,
        "level": finding.level.name.lower(),
        "sentence": finding.fault.sentence,
        "seen": finding.seen,
        "advice": finding.fault.to_do,
    }


def _lines(report: DoctorReport) -> Iterator[str]:
    identity = report.identity
    product = " ".join(filter(None, (identity.product or "a server that does not say what it is", identity.version)))
    number, all_of_them = report.address
    which = f", address {number} of {all_of_them}" if all_of_them > 1 else ""
    yield f"{report.name}{which}: {product} at {identity.host}"
    if identity.model:
        family = {True: ", which is gpt-oss", False: ", which is not gpt-oss", None: ""}[identity.is_gpt_oss]
        yield from _wrapped(f"Model: {identity.model}{family}{f' ({identity.why})' if identity.why else ''}.", 2)
    if identity.context:
        yield f"  Context: {identity.context} tokens."
    for finding in report.general:
        yield from _finding_lines(finding, 2)
    for one in report.shown_formats:
        yield ""
        is_configured = one.kind == report.configured
        if not is_configured and not one.is_supported:
            yield f"  {one.kind}: not supported by this server."
            continue
        yield from _wrapped(f"{one.kind}{' (configured)' if is_configured else ''}: {_summary(one)}", 2)
        for finding in one.findings:
            yield from _finding_lines(finding, 4)
    yield ""
    if best := report.best:
        change = f' Set kind = "{best.kind}".' if best.kind != report.configured else ""
        yield from _wrapped(f"Best wire format: {best.kind}. {report.why_best}{change}", 2)
    yield f"  {_VERDICTS[report.level]}"


def _summary(report: FormatReport) -> str:
    if report.not_tried:
        return f"not tried. {report.not_tried[:1].upper()}{report.not_tried[1:].removesuffix('.')}."
    wait = f" First token after {report.first_seconds:.2f} s." if report.first_seconds is not None else ""
    faults = sum(finding.level > Level.NOTE for finding in report.findings)
    if not report.works:
        return f"does not work.{wait}"
    return f"works{f', with {faults} fault' if faults else ''}{'s' if faults > 1 else ''}.{wait}"


def _finding_lines(finding: DetectedFault, indent: int) -> Iterator[str]:
    sentence = "as above." if finding.is_known else finding.fault.sentence
    yield from _wrapped(f"[{_LEVELS[finding.level]}] {finding.fault.value}: {sentence}", indent)
    if finding.seen:
        yield from _wrapped(f"Seen: {finding.seen}", indent + 4)
    if not finding.is_known:
        yield from _wrapped(f"To do: {finding.fault.to_do}", indent + 4)


def _wrapped(text: str, indent: int) -> list[str]:
    lead = " " * indent
    return textwrap.wrap(text, _WIDTH, initial_indent=lead, subsequent_indent=f"{lead}  ", break_long_words=False, break_on_hyphens=False)
