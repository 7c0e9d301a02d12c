"""Ends a turn: determines how, from its last sample or from its model server's failure, stores it, logs it and tells everybody.

The log for the operator and the metrics have no content.
"""

from __future__ import annotations

import asyncio
import logging
import math
from datetime import datetime
from functools import partial

from django.utils import timezone

from chatui import wire
from chatui.backends.base import BackendError, EndReason
from chatui.codes import Cause, ProductCode
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.display import conversation_list, fragments
from chatui.display.conversation import EndedTurn, sources_of
from chatui.models.turn import Turn, TurnState
from chatui.observability import measures
from chatui.observability.error_reports import log_without_content
from chatui.observability.measures import SpanAttributes
from chatui.store import context_use
from chatui.turns import ledger
from chatui.turns.asks import ProgramAsk
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.publisher import Publisher
from chatui.turns.running_turn import LeaseLostError, RunningTurn, TurnOutcome
from chatui.turns.sampling import Sampling
from chatui.turns.streams.program import Ended
from chatui.wire.bus import bus, person
from renderer.errors import Code
from renderer.frame_kinds import is_answer
from renderer.frames import Terminator
from renderer.gate import Audience, show

log = logging.getLogger(__name__)


def note_end(running: RunningTurn, milliseconds: int) -> None:
    """Log the end and count it. Both name the model server as the operator does; neither contains text from a server."""
    outcome, account = running.outcome, running.account
    code, seconds = outcome.code.value if outcome.code else "", milliseconds / 1000
    measures.labelled(measures.TURNS, account.backend, outcome.state.value, code).inc()
    measures.labelled(measures.TURN_SECONDS, account.backend).observe(seconds)
    for direction, count in (("input", account.input_tokens), ("output", account.output_tokens)):
        measures.labelled(measures.TOKENS, account.backend, direction).inc(count or 0)
    ended = SpanAttributes(backend=account.backend, state=outcome.state.value, code=code)
    ended |= SpanAttributes(input_tokens=account.input_tokens, output_tokens=account.output_tokens)
    measures.current_span().set_attributes(**ended)
    log.info("turn ended", extra={**ended, "turn": str(running.turn.pk), "cause": outcome.cause, "seconds": seconds})


def verdict(sampling: Sampling, frames: FrameRecorder, program: ProgramAsk | None, *, has_handed_back: bool) -> TurnOutcome:
    """The outcome of a turn whose last sample ended without an error. ``has_handed_back``: its ``program`` must carry out calls."""
    if sampling.ended.reason is EndReason.LENGTH:
        return TurnOutcome(TurnState.INCOMPLETE, ProductCode.CONTEXT_FULL if sampling.ended.is_context_full else ProductCode.LENGTH)
    if sampling.ended.reason is EndReason.CONTENT_FILTER:
        return TurnOutcome(TurnState.INCOMPLETE if frames.has_answer else TurnState.FAILED, ProductCode.CONTENT_REFUSED)
    if frames.waits_for_tool:
        return TurnOutcome(TurnState.COMPLETED) if has_handed_back else TurnOutcome(TurnState.INCOMPLETE, ProductCode.TOOL)
    if program is not None and program.offer.must_call and not any(frame.terminator is Terminator.CALL for frame in frames.written):
        return TurnOutcome(TurnState.FAILED, Code.CALL_SCHEMA)
    if frames.has_answer:
        return _with_answer(frames)
    if frames.is_withheld:
        return TurnOutcome(TurnState.FAILED, ProductCode.WITHHELD)
    if sampling.ended.reason is EndReason.TOOL_CALLS:
        return TurnOutcome(TurnState.FAILED, Code.CALL_SCHEMA)
    return TurnOutcome(TurnState.FAILED, frames.last_error or _nothing_more(frames))


def _with_answer(frames: FrameRecorder) -> TurnOutcome:
    if frames.is_malformed:
        return TurnOutcome(TurnState.FAILED, Code.BODY_CONSTRAINT_VIOLATION)
    return TurnOutcome(TurnState.COMPLETED, ProductCode.WITHHELD if frames.is_withheld else None)


def _nothing_more(frames: FrameRecorder) -> ProductCode:
    if frames.continues_text:
        return ProductCode.NO_MORE
    return ProductCode.ONLY_THINKING if frames.has_thought else ProductCode.NO_ANSWER


def failed_by(error: BackendError) -> TurnOutcome:
    wait = None if error.retry_after is None else math.ceil(error.retry_after)
    return TurnOutcome(TurnState.FAILED, error.code, error.detail, error.context, error.log_text, wait)


STOPPED = TurnOutcome(TurnState.STOPPED)


def interrupted(*, has_begun: bool) -> TurnOutcome:
    """The outcome if the process ends. ``has_begun``: a model may have been asked."""
    code = Code.STREAM_TRUNCATED if has_begun else ProductCode.SERVER_BUSY
    return TurnOutcome(TurnState.INTERRUPTED, code, cause=Cause.PROCESS_ENDED.value)


def failed_with(running: RunningTurn, error: BaseException) -> TurnOutcome:
    """The outcome for a failure of the product's own. Logs it."""
    log_without_content(log, running.turn.pk, error)
    return TurnOutcome(TurnState.FAILED, ProductCode.INTERNAL, type(error).__name__)


LEFT_TO_OTHERS = TurnOutcome(TurnState.INTERRUPTED, ProductCode.SERVER_BUSY)
LOST = TurnOutcome(TurnState.FAILED, ProductCode.INTERNAL)


def tell_program(running: RunningTurn, outcome: TurnOutcome, at: datetime | None = None) -> None:
    """End the stream of the program that asked, if one did. Only the first call counts. ``at``: when the turn ended, if that is stored."""
    if running.ask.program is not None:
        tokens = running.account.input_tokens, running.account.output_tokens
        ended = Ended(outcome.state, outcome.code, *tokens, outcome.retry_after, at, outcome.context, outcome.stopped_at)
        running.ask.program.stream.end(ended)


SHOWN_SECONDS = 10.0
"""How long the end of a turn waits for the part below its answer, which normally takes milliseconds. The text is already shown."""

_WIRE_TYPES: dict[str, wire.EndType] = {
    TurnState.COMPLETED: "response.completed",
    TurnState.INCOMPLETE: "response.incomplete",
    TurnState.STOPPED: "response.cancel",
}


async def end(running: RunningTurn, publisher: Publisher, frames: FrameRecorder | None) -> None:
    """Store the last frames of a turn and its end, with its ``outcome`` and ``account``, and tell everybody.

    Raises:
        LeaseLostError: the turn is no longer ours.
    """
    await _store(running, publisher, frames)
    # Even if the lease is reported lost meanwhile: the lease of an ended turn is no longer renewed.
    note_end(running, publisher.elapsed())
    outcome, account, turn = running.outcome, running.account, ledger.ended(running)
    answered = wire.Answered(str(turn.conversation_id), timezone.now().isoformat(), ledger.is_news(outcome.state))
    bus().send(person(turn.asked_by_id), conversation_list.message(answered))
    tell_program(running, outcome, turn.finished_at)
    below = await _answer_footer(running, turn, publisher, frames)
    await publisher.catch_up()
    publisher.end(
        wire.TurnEnded(
            _WIRE_TYPES.get(outcome.state, "response.failed"),
            outcome.state,
            outcome.code,
            publisher.elapsed(),
            context_use.percent(account.context, outcome.code),
            account.turns_left_out or None,
            *below,
        )
    )


async def _store(running: RunningTurn, publisher: Publisher, frames: FrameRecorder | None) -> None:
    """Store what is left in one write. If that is refused, the frames are stored first: frames that cannot be stored fail the turn, and an
    end that cannot be stored loses no frames."""
    order = running.turn.pk
    parents, unsaved = frames.take_unsaved() if frames is not None else ((), [])
    if frames is not None and unsaved:
        try:
            frames.note_stored(await publisher.saving(writer.post(ledger.finish_with, running, parents, unsaved, order=order)))
            return
        except LeaseLostError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the error, the frames get a second try
            log_without_content(log, order, error)
        try:
            frames.note_stored(await publisher.saving(writer.post(ledger.store_frames, running, parents, unsaved, order=order)))
        except LeaseLostError:
            raise
        except Exception as error:  # noqa: BLE001 - the end says that the answer is lost
            running.outcome = failed_with(running, error)
    await publisher.saving(writer.post(ledger.finish, running, order=order))


async def _answer_footer(running: RunningTurn, turn: Turn, publisher: Publisher, frames: FrameRecorder | None) -> fragments.AnswerFooter:
    """The part below the answer of the ended ``turn``. Empty if no page shows the whole answer, or if it cannot be read in time: pages then
    fetch it."""
    if not publisher.is_shown_whole:
        return fragments.AnswerFooter()
    texts = [show(frame, Audience.END_USER) for frame in (frames.written if frames else ()) if is_answer(frame.header)]
    sources = sources_of(texts, publisher.pages, [turn])
    stored = frames.stored if frames else []
    ended = EndedTurn(turn, publisher.shown(), is_first=running.has_new_question, written=stored)
    render = partial(fragments.answer_end, ended, fragments.language_of(running.ask.language), sources)
    try:
        if ended.reads_nothing:
            return render()
        async with asyncio.timeout(SHOWN_SECONDS):
            return await pools.turns.run(render)
    except (TimeoutError, DatabaseBusyError):
        log.warning("turn %s: the part below its answer could not be read in time", turn.pk)
    except Exception as error:  # noqa: BLE001 - the answer is stored all the same, and the page loads it from there
        log_without_content(log, turn.pk, error)
    return fragments.AnswerFooter()
