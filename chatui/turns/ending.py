"""Ends a turn: determines how, from its last sample or from its model server's failure, stores it and logs it.

The log for the operator and the metrics have no content. A turn's last frames and its end are stored in one write, which saves a commit for
every answer.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from chatui.backends.base import BackendError, EndReason
from chatui.codes import ProductCode
from chatui.models.message import Message
from chatui.models.turn import TurnState
from chatui.observability import measures, spans
from chatui.observability.error_reports import log_without_content
from chatui.turns import ledger, statements
from chatui.turns.calls.requested import HandingBack
from chatui.turns.frame_recorder import FrameRecorder, LastFrames
from chatui.turns.running_turn import LeaseLostError, RunningTurn, TurnOutcome
from chatui.turns.sampling import Sampling
from chatui.usage import settling
from renderer.errors import Code

log = logging.getLogger(__name__)


def note_end(running: RunningTurn, milliseconds: int) -> None:
    """Log the end and count it. Both name the model server as the operator does; neither contains text from a server."""
    outcome, account = running.outcome, running.account
    code, seconds = outcome.code.value if outcome.code else "", milliseconds / 1000
    measures.TURNS.labels(account.backend, outcome.state.value, code).inc()
    measures.TURN_SECONDS.labels(account.backend).observe(seconds)
    for direction, count in (("input", account.input_tokens), ("output", account.output_tokens)):
        measures.TOKENS.labels(account.backend, direction).inc(count or 0)
    spans.current().set_attributes(
        backend=account.backend,
        state=outcome.state.value,
        code=code,
        input_tokens=account.input_tokens,
        output_tokens=account.output_tokens,
    )
    log.info(
        "turn ended",
        extra={
            "turn": str(running.turn.pk),
            "backend": account.backend,
            "state": outcome.state.value,
            "code": code,
            "cause": outcome.cause,
            "seconds": seconds,
            "input_tokens": account.input_tokens,
            "output_tokens": account.output_tokens,
        },
    )


T = TypeVar("T")


class WriterJob(Protocol):
    """Runs work in the writer, in a transaction."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """The result of the work."""


def store_end(running: RunningTurn, last: LastFrames | None) -> Sequence[Message]:
    """Store the ``last`` frames, if there are any, and end the turn. Run it in the writer. Returns the frames' messages; none if an
    earlier commit, whose result was lost, has already done it all.

    Raises:
        LeaseLostError: the turn is no longer ours. Nothing is stored.
    """
    try:
        stored = _store_frames(running, last) if last is not None else ()
    except LeaseLostError:
        if not _is_stored(running):
            raise
        return ()
    if not ledger.finish(running) and not _is_stored(running):
        raise LeaseLostError
    return stored


def _is_stored(running: RunningTurn) -> bool:
    """Whether the turn has exactly this end. Then this process has ended it: any other would have stored a different end."""
    return statements.has_ended(running.turn.pk, running.outcome.state, running.account.ended_at)


def _store_frames(running: RunningTurn, last: LastFrames) -> Sequence[Message]:
    if running.turn.reserved_tokens is not None:
        # The same lock order as for a new question, which locks the person's usage count before the open branch.
        settling.lock_counters([running.turn.asked_by_id])
    return ledger.store_frames(running, last.parents, last.written)


async def store(running: RunningTurn, last: LastFrames, write: WriterJob) -> tuple[Sequence[Message], Exception | None]:
    """Store the last frames and the end. Returns the messages, and the error if the frames cannot be stored; then the end is not stored.

    If storing both at once fails, the frames are stored first, on their own, so that an end that cannot be stored does not lose them.

    Raises:
        LeaseLostError: the turn is no longer ours.
    """
    try:
        return await write(partial(store_end, running, last)), None
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the error, the frames get a second try
        log_without_content(log, running.turn.pk, error)
    try:
        stored = await write(partial(ledger.store_frames, running, last.parents, last.written))
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 - returned to the caller
        return (), error
    await write(partial(store_end, running, None))
    return stored, None


def verdict(sampling: Sampling, frames: FrameRecorder, handing: HandingBack) -> TurnOutcome:
    """The outcome of a turn whose last sample ended without an error."""
    if sampling.end_reason is EndReason.LENGTH:
        return TurnOutcome(TurnState.INCOMPLETE, ProductCode.CONTEXT_FULL if sampling.is_context_full else ProductCode.LENGTH)
    if sampling.end_reason is EndReason.CONTENT_FILTER:
        return TurnOutcome(TurnState.INCOMPLETE if frames.has_answer else TurnState.FAILED, ProductCode.CONTENT_REFUSED)
    if frames.waits_for_tool:
        return TurnOutcome(TurnState.COMPLETED) if handing.has_handed_back else TurnOutcome(TurnState.INCOMPLETE, ProductCode.TOOL)
    if handing.misses_call(frames.written):
        return TurnOutcome(TurnState.FAILED, Code.CALL_SCHEMA)
    if frames.has_answer:
        return TurnOutcome(TurnState.COMPLETED, ProductCode.WITHHELD if frames.is_withheld else None)
    if frames.is_withheld:
        return TurnOutcome(TurnState.FAILED, ProductCode.WITHHELD)
    if sampling.end_reason is EndReason.TOOL_CALLS:
        return TurnOutcome(TurnState.FAILED, Code.CALL_SCHEMA)
    return TurnOutcome(TurnState.FAILED, frames.last_error or _nothing_more(frames))


def _nothing_more(frames: FrameRecorder) -> ProductCode:
    if frames.continues_text:
        return ProductCode.NO_MORE
    return ProductCode.ONLY_THINKING if frames.has_thought else ProductCode.NO_ANSWER


def failed_by(error: BackendError) -> TurnOutcome:
    """The outcome for a model server's failure."""
    wait = None if error.retry_after is None else math.ceil(error.retry_after)
    return TurnOutcome(TurnState.FAILED, error.code, error.detail, error.context, error.told, wait)
