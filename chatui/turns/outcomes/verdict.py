"""Determines how a turn ends: from its last sample, or from its model server's failure."""

from __future__ import annotations

import math

from chatui.backends.base import BackendError, EndReason
from chatui.codes import ProductCode
from chatui.models.turn import TurnState
from chatui.turns.calls.handing_back import HandingBack
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.ledger import Outcome
from chatui.turns.sampling import Sampling
from renderer.errors import Code

PROCESS_ENDED = "the chat server's process ended"
"""The cause, for admins, of turns that were cut off with their process."""


def verdict(sampling: Sampling, frames: FrameRecorder, handing: HandingBack) -> Outcome:
    """The outcome of a turn whose last sample ended without an error."""
    if sampling.end_reason is EndReason.LENGTH:
        return Outcome(TurnState.INCOMPLETE, ProductCode.CONTEXT_FULL if sampling.is_context_full else ProductCode.LENGTH)
    if sampling.end_reason is EndReason.CONTENT_FILTER:
        return Outcome(TurnState.INCOMPLETE if frames.has_answer else TurnState.FAILED, ProductCode.CONTENT_REFUSED)
    if frames.waits_for_tool:
        return Outcome(TurnState.COMPLETED) if handing.has_handed_back else Outcome(TurnState.INCOMPLETE, ProductCode.TOOL)
    if handing.misses_call(frames.written):
        return Outcome(TurnState.FAILED, Code.CALL_SCHEMA)
    if frames.has_answer:
        return Outcome(TurnState.COMPLETED, ProductCode.WITHHELD if frames.is_withheld else None)
    if frames.is_withheld:
        return Outcome(TurnState.FAILED, ProductCode.WITHHELD)
    if sampling.end_reason is EndReason.TOOL_CALLS:
        return Outcome(TurnState.FAILED, Code.CALL_SCHEMA)
    return Outcome(TurnState.FAILED, frames.last_error or _nothing_more(frames))


def _nothing_more(frames: FrameRecorder) -> ProductCode:
    if frames.continues_text:
        return ProductCode.NO_MORE
    return ProductCode.ONLY_THINKING if frames.has_thought else ProductCode.NO_ANSWER


def failed_by(error: BackendError) -> Outcome:
    """The outcome for a model server's failure."""
    wait = None if error.retry_after is None else math.ceil(error.retry_after)
    return Outcome(TurnState.FAILED, error.code, error.detail, error.context, error.cause, wait)
