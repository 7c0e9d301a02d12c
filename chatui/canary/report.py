"""Writes the result of a canary run, as text or JSON. It names places and markers, never the text around them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

from chatui.canary.run import Report

EXIT_CODES = {"clean": 0, "leak": 1, "not carried out": 2}
_MAX_LINES = 100


def as_json(report: Report) -> str:
    """The result as one line of JSON."""
    return json.dumps(dataclasses.asdict(report) | {"outcome": report.outcome})


def as_text(report: Report) -> Iterator[str]:
    """The result as lines of text."""
    planted, looked = report.planted, ", ".join(f"{count} {what}" for what, count in sorted(report.looked.items()))
    yield f"{report.run} at {report.origin}, {report.seconds} s, seed {report.seed}"
    yield f"planted: {planted['hidden']} hidden and {planted['visible']} visible markers in {planted['answers']} answers and an upload"
    yield f"looked at: {looked or 'nothing'}"
    for sentence in report.left_out:
        yield f"left out: {sentence}"
    for finding in report.findings[:_MAX_LINES]:
        yield f"LEAK: {finding}"
    if len(report.findings) > _MAX_LINES:
        yield f"LEAK: and {len(report.findings) - _MAX_LINES} more; --json has all of them"
    for problem in report.problems:
        yield f"PROBLEM: {problem}"
    yield {"clean": "Nothing leaked.", "leak": "Hidden text got out.", "not carried out": "This run proves nothing."}[report.outcome]
