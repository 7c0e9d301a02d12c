"""The answers to the doctor's questions in one wire format, and the findings from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from chatui.doctor.faults import Fault, Finding, Level
from chatui.doctor.identity import Identity
from chatui.doctor.judging import judge_cut, judge_leak, judge_plan, judge_sum, judge_summary
from chatui.doctor.questions import Questions
from chatui.doctor.report import FormatReport
from chatui.doctor.transport import judge_failure, judge_ids, judge_pace
from chatui.doctor.trial import Trial

_MAX_NAMES = 5


@dataclass(slots=True)
class Answers:
    """The answers in one wire format.

    ``kind`` as configured. ``not_tried``: why no question was asked. ``findings``: those from before the first question. ``summary``: the
    first question again, with a summary requested. Questions that were not asked are None. ``read_again``: the
    findings of the second reading of token ids.
    """

    kind: str
    not_tried: str = ""
    findings: list[Finding] = field(default_factory=list)
    sum: Trial | None = None
    cut: Trial | None = None
    plan: Trial | None = None
    summary: Trial | None = None
    out_of_time: bool = False
    read_again: list[Finding] = field(default_factory=list)

    @property
    def family(self) -> str:
        """The wire format without the dialect."""
        return self.kind.split("-")[0]

    @property
    def named_trials(self) -> dict[str, Trial]:
        """The trials that were made, by the name of the question."""
        asked = {"sum": self.sum, "count": self.cut, "plan": self.plan, "summary": self.summary}
        return {name: trial for name, trial in asked.items() if trial}

    @property
    def trials(self) -> list[Trial]:
        """The trials that were made, in order."""
        return list(self.named_trials.values())

    def report(self, identity: Identity, words: Questions, *, by_ids: Trial | None, summaries: str) -> FormatReport:
        """``by_ids``: the third question by token ids, for comparison. ``summaries``: as in the back end's spec."""
        findings = [*self.findings, *_once(self._found(identity, words, by_ids, summaries))]
        waits = [trial.observed.began for trial in self.trials if trial.observed.began is not None]
        return FormatReport(self.kind, tuple(findings), self.not_tried, min(waits, default=None))

    def _found(self, identity: Identity, words: Questions, by_ids: Trial | None, summaries: str) -> Iterator[Finding]:
        yield from self._failures_and_leaks(identity)
        if self.sum:
            yield from judge_sum(self.sum, words)
            yield from self._about_summaries(words, summaries)
        if self.cut:
            yield from judge_cut(self.cut)
        if self.family == "harmony":
            yield from filter(None, (judge_ids(trial, identity.product) for trial in self.trials))
        elif self.plan:
            yield from judge_plan(self.plan, words, by_ids)
        yield from self.read_again
        yield from judge_pace(self.trials)
        if self.out_of_time:
            yield Finding(Fault.OUT_OF_TIME, Level.FAULT)

    def _failures_and_leaks(self, identity: Identity) -> Iterator[Finding]:
        for trial in self.trials:
            if failure := judge_failure(trial, by_ids=self.family == "harmony"):
                yield _with_names(failure, identity)
            if leak := judge_leak(trial):
                yield leak

    def _about_summaries(self, words: Questions, summaries: str) -> Iterator[Finding]:
        are_shown = summaries == "server"
        if self.sum:
            yield from judge_summary(self.sum, words, was_asked_for=self.family == "chat", are_shown=are_shown)
        if self.summary and not (self.sum and self.sum.observed.summary):
            yield from judge_summary(self.summary, words, was_asked_for=True, are_shown=are_shown)


def _once(findings: Iterator[Finding]) -> Iterator[Finding]:
    """The most serious finding of each fault, in order."""
    found: dict[Fault, Finding] = {}
    for finding in findings:
        if finding.fault not in found or finding.level > found[finding.fault].level:
            found[finding.fault] = finding
    yield from found.values()


def _with_names(finding: Finding, identity: Identity) -> Finding:
    if finding.fault is not Fault.MODEL_UNKNOWN or not identity.models:
        return finding
    names = ", ".join(name[:80] for name in identity.models[:_MAX_NAMES])
    return replace(finding, seen=f"{finding.seen} It names: {names}.")
