"""The result of an examination, and which wire format fits the server best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from chatui.doctor.faults import Fault, Finding, Level, worst
from chatui.doctor.identity import Identity

_RANK = {"harmony": 0, "responses": 1, "chat": 2}
_WHY = {
    "harmony": "Token ids distinguish a real marker from a quoted one, and a preamble from the answer, exactly",
    "responses": "Each message and each piece of reasoning arrives as a separate item",
    "chat": "It works, and no more precise wire format that could be tested works as well",
}


@dataclass(frozen=True, slots=True)
class FormatReport:
    """The findings about one wire format. ``kind`` as it is configured. ``not_tried``: why not; then there are no findings.

    ``first_seconds``: the shortest wait for the first word; None if none arrived.
    """

    kind: str
    findings: tuple[Finding, ...] = ()
    not_tried: str = ""
    first_seconds: float | None = None

    @property
    def level(self) -> Level:
        """The worst of its findings."""
        return worst(self.findings)

    @property
    def works(self) -> bool:
        """Whether people would get answers without hidden text."""
        return not self.not_tried and self.level in (Level.NOTE, Level.FAULT)

    @property
    def is_supported(self) -> bool:
        """Whether the server supports it at all, as far as is known."""
        return all(finding.fault is not Fault.KIND_NOT_SPOKEN for finding in self.findings)

    @property
    def family(self) -> str:
        """The wire format without the dialect."""
        return self.kind.split("-")[0]


@dataclass(frozen=True, slots=True)
class Report:
    """The report on one address of a back end. ``formats``: the configured one first. ``general``: findings that are about no wire format.

    ``address``: which of how many of that back end this is.
    """

    name: str
    configured: str
    identity: Identity
    general: tuple[Finding, ...] = ()
    formats: tuple[FormatReport, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    address: tuple[int, int] = (1, 1)

    @property
    def level(self) -> Level:
        """The worst finding about the back end as configured. Faults of other wire formats do not count."""
        mine = [finding for report in self.formats if report.kind == self.configured for finding in report.findings]
        return worst((*self.general, *mine))

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

    @property
    def sends_raw_summaries(self) -> bool:
        """Whether its summaries were found to be raw reasoning, by any wire format."""
        return any(finding.fault is Fault.SUMMARY_RAW for report in self.formats for finding in report.findings)


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


def _names(findings: Iterable[Finding]) -> list[str]:
    return sorted({finding.fault.value for finding in findings if finding.level > Level.NOTE})
