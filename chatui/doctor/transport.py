"""Judges the transport of an answer: refusals, failures, broken streams, streaming and speed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chatui.codes import ProductCode
from chatui.doctor.faults import Fault, Finding, Level
from chatui.doctor.leak_patterns import sign_of_leak
from chatui.doctor.observed_bytes import Observed
from chatui.doctor.trial import Trial
from renderer.errors import Code

SLOW_SECONDS = 10.0
# The length from which an answer should arrive in several events.
_MIN_CHARS = 80
# Buffered text arrives in one or two reads. So may a short answer from a fast server, or data that a busy machine reads late.
_MIN_PIECES, _MIN_SECONDS, _MAX_READS = 12, 2.0, 2
_NO_MODEL = re.compile(
    r"model_not_found|try pulling|\bmodel\b[^{}]{0,200}?(?:not found|not exist|not available|not loaded)"
    r"|(?:unknown|no such|invalid|not find|not have)(?: the)? model",
    re.IGNORECASE,
)


def judge_failure(trial: Trial, *, by_ids: bool) -> Finding | None:
    """Why the question was not answered; None if it was. ``by_ids``: the kind uses token ids."""
    if trial.error is None:
        return None
    detail = f"HTTP {trial.status}." if trial.status else ""
    if trial.status in (0, 200):
        return _without_status(trial, by_ids=by_ids)
    if trial.status in (401, 403):
        return Finding(Fault.KEY_REFUSED, Level.UNUSABLE, detail)
    if trial.status in (429, 503):
        return Finding(Fault.BUSY, Level.UNASKED, detail)
    if trial.status in (400, 404, 422) and _NO_MODEL.search(trial.error_text):
        return Finding(Fault.MODEL_UNKNOWN, Level.UNUSABLE, detail)
    if trial.status in (404, 405, 501):
        return Finding(Fault.KIND_NOT_SPOKEN, Level.UNUSABLE, detail)
    if 300 <= trial.status < 400:
        return Finding(
            Fault.REFUSED, Level.UNUSABLE, f"{detail} It sends on to another address, which is not followed: the key would go too."
        )
    return Finding(Fault.FAILED if trial.status >= 500 else Fault.REFUSED, Level.UNUSABLE, detail)


def _without_status(trial: Trial, *, by_ids: bool) -> Finding:
    code = trial.error.code if trial.error else ProductCode.BACKEND
    if code is ProductCode.TIMEOUT:
        if trial.observed.pieces:
            return Finding(Fault.OUT_OF_TIME, Level.UNASKED, "An answer had begun and was not finished.")
        return Finding(Fault.SILENT, Level.UNASKED)
    if trial.status == 0:
        return Finding(Fault.UNREACHABLE, Level.UNASKED)
    if by_ids and trial.observed.text and not trial.observed.ids:
        stripped = " The markers are stripped from the text, too." if sign_of_leak(trial.observed.text) is Fault.LEAK_COLLAPSED else ""
        return Finding(Fault.IDS_MISSING, Level.UNUSABLE, f"Text came, and no ids.{stripped}")
    if code is Code.STREAM_TRUNCATED:
        return Finding(Fault.BROKEN_OFF, Level.UNUSABLE, "Some of the answer had come." if trial.observed.pieces else "Nothing had come.")
    return Finding(Fault.FAILED, Level.UNUSABLE, "HTTP 200, and then an error, or something that could not be used.")


def judge_ids(trial: Trial, product: str | None) -> Finding | None:
    """Whether all ids arrived. Streams from llama.cpp always have gaps, which its dialect handles."""
    ids, sampled = trial.observed.ids, trial.observed.sampled
    if trial.error or product != "vLLM" or ids is None or sampled is None or ids >= sampled - 1:
        return None
    return Finding(Fault.IDS_INCOMPLETE, Level.UNUSABLE, f"It counts {sampled} tokens and sent {ids} ids.")


def judge_pace(trials: Sequence[Trial], slow_seconds: float = SLOW_SECONDS) -> Iterator[Finding]:
    """Streaming, by the longest answer, and the wait for the first word, by the quickest: the first may include loading the model."""
    answered = [trial.observed for trial in trials if trial.error is None and trial.observed.began is not None]
    if not answered:
        return
    if why := _why_in_one_piece(max(answered, key=lambda observed: observed.chars)):
        yield Finding(Fault.NO_STREAM, Level.FAULT, why)
    waits = [observed.began for observed in answered if observed.began is not None]
    if min(waits) > slow_seconds:
        yield Finding(Fault.SLOW_FIRST, Level.FAULT, f"It came after {min(waits):.0f} seconds at best.")
    elif waits[0] > slow_seconds:
        yield Finding(Fault.SLOW_FIRST, Level.NOTE, f"Only at first, {waits[0]:.0f} seconds: the model may have had to be loaded.")


def _why_in_one_piece(observed: Observed) -> str | None:
    if not observed.is_stream:
        return "It answered with one plain JSON body."
    if observed.pieces == 1 and observed.chars >= _MIN_CHARS:
        return f"One event contained all of {observed.chars} characters."
    if observed.pieces >= _MIN_PIECES and observed.reads <= _MAX_READS and (observed.ended or 0.0) >= _MIN_SECONDS:
        return f"All {observed.pieces} events came at once, after {observed.began or 0.0:.1f} seconds."
    return None
