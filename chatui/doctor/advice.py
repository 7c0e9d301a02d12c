"""Recommends settings for a back end from the result of its examination."""

from __future__ import annotations

import re

from chatui.backends.auto.choosing import AUTO
from chatui.backends.spec.definition import BackendSpec, check_spec, is_model_name
from chatui.backends.spec.writing import Value
from chatui.doctor.faults import Fault
from chatui.doctor.report import Report


def recommended_settings(report: Report, before: BackendSpec) -> dict[str, Value]:
    """The settings that should change from ``before``, so that the result is a valid spec. Empty if nothing should change.

    Raises:
        ValueError: no wire format works, so there are no recommended settings.
    """
    best = report.best
    if best is None:
        raise ValueError("no wire format works, so there is nothing to write")
    changes: dict[str, Value] = {}
    # An automatic kind is replaced only if another kind is better than the one it selects.
    kind = report.configured if before.kind == AUTO else before.kind
    if best.family != kind.split("-")[0]:
        changes["kind"] = best.kind
    if not before.models and report.identity.model and is_model_name(report.identity.model):
        changes["models"] = (report.identity.model,)
    if before.summaries == "server" and (report.sends_raw_summaries or best.family == "harmony"):
        changes["summaries"] = "none"
        if before.summary_review:
            changes["summary_review"] = False
    # If a server reports a cut answer as complete, only a known limit reveals it.
    is_cut_unsaid = any(finding.fault is Fault.CUT_UNSAID for finding in best.findings)
    if is_cut_unsaid and not before.max_answer_tokens and report.identity.context:
        changes["max_answer_tokens"] = report.identity.context // 2
    check_spec({**before.model_dump(), **changes})
    return changes


def name_for(report: Report) -> str:
    """A name for a back end without one: its product name, else ``main``."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", report.identity.product or "main")[:60]
