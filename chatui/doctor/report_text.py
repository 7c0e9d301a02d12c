"""Writes a doctor's report as text for a terminal or as JSON for a script. It quotes no model output."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from chatui.doctor.faults import Finding, Level
from chatui.doctor.report import FormatReport, Report

_WIDTH = 110
_VERDICTS = {
    Level.NOTE: "Healthy as configured.",
    Level.FAULT: "It works as configured, with the faults listed.",
    Level.UNASKED: "It could not be queried.",
    Level.UNUSABLE: "It cannot be used as configured.",
    Level.LEAK: "Do not use it as configured: people would see hidden text.",
}
_LEVELS = {Level.NOTE: "note", Level.FAULT: "fault", Level.UNASKED: "not asked", Level.UNUSABLE: "unusable", Level.LEAK: "LEAK"}


def as_text(report: Report) -> str:
    """The report as lines of text. Names that the server sent are included unchanged."""
    return "\n".join(_lines(report))


def as_json(report: Report) -> dict[str, object]:
    """One object of plain values. ``level`` and ``fault`` come from closed lists; ``exit`` is this back end's own exit code."""
    identity, best = report.identity, report.best
    return {
        "name": report.name,
        "place": identity.place,
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


def _finding(finding: Finding) -> dict[str, str]:
    return {
        "fault": finding.fault.value,
        "level": finding.level.name.lower(),
        "sentence": finding.fault.sentence,
        "seen": finding.seen,
        "advice": finding.fault.advice,
    }


def _lines(report: Report) -> Iterator[str]:
    identity = report.identity
    product = " ".join(filter(None, (identity.product or "a server that does not say what it is", identity.version)))
    number, all_of_them = report.address
    which = f", address {number} of {all_of_them}" if all_of_them > 1 else ""
    yield f"{report.name}{which}: {product} at {identity.place}"
    if identity.model:
        family = {True: ", which is gpt-oss", False: ", which is not gpt-oss", None: ""}[identity.is_gpt_oss]
        yield from _wrapped(f"Model: {identity.model}{family}{f' ({identity.why})' if identity.why else ''}.", 2)
    if identity.context:
        yield f"  Context: {identity.context} tokens."
    for finding in report.general:
        yield from _finding_lines(finding, 2)
    for one in report.formats:
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
        change = f' Set kind = "{best.kind}"; --write does it.' if best.kind != report.configured else ""
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


def _finding_lines(finding: Finding, indent: int) -> Iterator[str]:
    yield from _wrapped(f"[{_LEVELS[finding.level]}] {finding.fault.value}: {finding.fault.sentence}", indent)
    if finding.seen:
        yield from _wrapped(f"Seen: {finding.seen}", indent + 4)
    yield from _wrapped(f"To do: {finding.fault.advice}", indent + 4)


def _wrapped(text: str, indent: int) -> list[str]:
    lead = " " * indent
    return textwrap.wrap(text, _WIDTH, initial_indent=lead, subsequent_indent=f"{lead}  ", break_long_words=False, break_on_hyphens=False)
