"""Runs one turn from its question to its terminal state.

A Runner is a task of the server, not of a browser tab. It loads the turn, has the model sampled until nothing follows, and ends the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from channels.db import database_sync_to_async
from django.db import DatabaseError, InterfaceError

from chatui import wire
from chatui.backends.base import BackendError, Effort, EndReason, SampleRequest
from chatui.backends.spec.choices import split_choice
from chatui.backends.spec.definition import BackendSpec
from chatui.codes import ProductCode
from chatui.env import environment
from chatui.error_reports import log_without_content
from chatui.model_servers import connected
from chatui.models.turn import TurnState
from chatui.turns import groups, ledger
from chatui.turns.database import with_retries
from chatui.turns.kept_frames import KeptFrames
from chatui.turns.ledger import Job, LeaseLostError, Outcome
from chatui.turns.publisher import Publisher
from chatui.turns.sampling import Sampling, account_of
from chatui.turns.start import Started
from chatui.turns.summarizing import Summarizing
from renderer import history
from renderer.errors import Code
from renderer.frames import Frame
from renderer.gate import Audience

log = logging.getLogger(__name__)

RENEW_SECONDS = 5.0
LAYER_PAUSE = 1.0

FollowUp = Callable[[Sequence[Frame]], Awaitable[Sequence[Frame]]]
"""Called between two samplings with what the turn has written so far. Returns what the product adds; an empty result ends the turn."""

_WIRE_TYPES: dict[str, wire.EndType] = {
    TurnState.COMPLETED: "response.completed",
    TurnState.INCOMPLETE: "response.incomplete",
    TurnState.STOPPED: "response.cancel",
}


class Runner:
    """Runs one turn. ``listen`` first, then ``run``; ``stop`` at any time."""

    def __init__(self, started: Started, follow_up: FollowUp | None = None) -> None:
        self._started = started
        self._follow_up = follow_up
        self._turn_id = started.turn.pk
        self._job = ledger.job_of(started.turn)
        self._publisher = Publisher(self._turn_id, self._job.conversation_id, is_continuation=started.continued_turn is not None)
        self._frames: KeptFrames | None = None
        self._samplings: list[Sampling] = []
        self._work: asyncio.Task[Outcome] | None = None
        self._is_stopped = False
        self._is_lost = False
        self._control_channel = ""

    async def listen(self) -> None:
        """Join the turn's group, so that sockets and other processes can reach it. Retried later where the channel layer is down."""
        layer = groups.layer()
        with self._publisher.without_layer():
            self._control_channel = self._control_channel or await layer.new_channel()
            await layer.group_add(groups.control(self._turn_id), self._control_channel)

    def stop(self) -> None:
        """The person pressed Stop: the upstream request ends at once, and what was shown is stored."""
        self._is_stopped = True
        self._cancel()

    def let_go(self) -> None:
        """The process is ending: store what the open frame holds and give up the lease. Synchronous."""
        ledger.let_go(self._job, self._checkpoint())

    async def run(self) -> None:
        """Run the whole turn. Never raises: whatever happens, the turn gets one terminal state and people get a message."""
        self._publisher.add_event(_created(self._started))
        background = [asyncio.create_task(task) for task in (self._flush_often(), self._renew_often(), self._receive())]
        try:
            outcome = await self._outcome()
            await self._close_frames()
            await self._end(outcome)
        except Exception as error:  # noqa: BLE001 - the last resort; the sweep closes the turn when its lease runs out
            log_without_content(log, self._turn_id, error)
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            with self._publisher.without_layer():
                await groups.layer().group_discard(groups.control(self._turn_id), self._control_channel)

    async def _outcome(self) -> Outcome:
        self._work = asyncio.create_task(self._conduct())
        if self._is_stopped:
            self._work.cancel()
        try:
            return await self._work
        except asyncio.CancelledError:
            if self._is_stopped or self._is_lost:
                return Outcome(TurnState.STOPPED)
            self._work.cancel()
            return Outcome(TurnState.INTERRUPTED, Code.STREAM_TRUNCATED)
        except LeaseLostError:
            self._is_lost = True
            return Outcome(TurnState.STOPPED)
        except BackendError as error:
            return Outcome(TurnState.FAILED, error.code, error.detail)
        except Exception as error:  # noqa: BLE001 - any other failure is the product's own, and the person gets a message for it
            log_without_content(log, self._turn_id, error)
            return Outcome(TurnState.FAILED, ProductCode.INTERNAL, type(error).__name__)

    async def _conduct(self) -> Outcome:
        """Sample, let the product add what follows from it, and sample again, until nothing follows."""
        job = self._job = await with_retries(ledger.load, self._turn_id)
        self._publisher.show_before(job.shown_before, job.cut_message_id)
        # In a thread, because this may read rows of the admin pages; the back end itself belongs to this event loop.
        spec = await database_sync_to_async(connected.spec_of)(job.choice)
        backend = connected.backend(job.choice)
        summary = Summarizing(spec, job.choice, job.frames, self._publisher.step)
        frames = self._frames = KeptFrames(job, self._publisher, summary)
        request = _first_request(job, spec)
        while True:
            sampling = Sampling(backend, request, frames)
            self._samplings.append(sampling)
            await sampling.run()
            added = await self._follow_up(frames.written) if self._follow_up else ()
            if not added:
                return _verdict(sampling.end_reason, frames)
            for frame in added:
                await frames.add(frame)
            request = replace(request, frames=history.seen_again((*job.frames, *frames.written)), cut_answer=None)

    async def _close_frames(self) -> None:
        if self._frames is not None and not self._is_lost:
            try:
                await self._frames.close()
            except LeaseLostError:
                self._is_lost = True

    async def _end(self, outcome: Outcome) -> None:
        if not self._is_lost:
            await with_retries(ledger.finish, self._job, outcome, account_of(self._samplings, self._publisher.end_thinking()))
        self._publisher.add_event(
            wire.TurnEnded(
                _WIRE_TYPES.get(outcome.state, "response.failed"),
                outcome.state,
                outcome.code,
                outcome.code.sentence if outcome.code else None,
                self._publisher.elapsed(),
            )
        )
        await self._publisher.flush()

    async def _flush_often(self) -> None:
        try:
            await self._publisher.flush_often()
        except Exception as error:  # noqa: BLE001 - the answer is stored all the same, and the page loads it from there
            log_without_content(log, self._turn_id, error)

    async def _renew_often(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await database_sync_to_async(ledger.renew)(self._job, self._checkpoint())
            except LeaseLostError:
                self._is_lost = True
                self._cancel()
                return
            except (DatabaseError, InterfaceError) as error:
                # The next attempt may still come in time, and a lease that has run out can be renewed until a sweep closes the turn.
                log.warning("turn %s: could not renew its lease (%s)", self._turn_id, type(error).__name__)

    async def _receive(self) -> None:
        while True:
            try:
                message = await groups.layer().receive(self._control_channel)
            except groups.LAYER_ERRORS:
                await asyncio.sleep(LAYER_PAUSE)
                await self.listen()
                continue
            if message["type"] == "turn.stop":
                self.stop()
            elif message["type"] == "turn.watched":
                self._publisher.watched()
            elif message["type"] == "turn.snapshot":
                await self._send_snapshot(Audience(message["audience"]), message["reply_to"])

    async def _send_snapshot(self, audience: Audience, reply_to: str) -> None:
        try:
            await self._publisher.send_snapshot(audience, reply_to)
        except Exception as error:  # noqa: BLE001 - a snapshot that fails must not keep the turn from receiving Stop
            log_without_content(log, self._turn_id, error)

    def _cancel(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def _checkpoint(self) -> str:
        return self._frames.checkpoint() if self._frames else ""


def _created(started: Started) -> wire.TurnCreated:
    return wire.TurnCreated(
        str(started.turn.conversation_id),
        str(started.turn.question_id),
        str(started.after) if started.after else None,
        started.kind,
        str(started.continued_turn) if started.continued_turn else None,
    )


def _first_request(job: Job, spec: BackendSpec) -> SampleRequest:
    return SampleRequest(
        job.frames,
        model=split_choice(job.choice)[1],
        effort=_effort(job.effort),
        max_tokens=spec.max_answer_tokens or environment().max_answer_tokens or None,
        cut_answer=job.cut_answer,
    )


def _verdict(reason: EndReason, frames: KeptFrames) -> Outcome:
    """The outcome of a turn whose last sample was complete."""
    if reason is EndReason.LENGTH:
        return Outcome(TurnState.INCOMPLETE, ProductCode.LENGTH)
    if frames.has_answer:
        return Outcome(TurnState.COMPLETED, ProductCode.WITHHELD if frames.is_withheld else None)
    if frames.is_withheld:
        return Outcome(TurnState.FAILED, ProductCode.WITHHELD)
    if reason is EndReason.TOOL_CALLS:
        return Outcome(TurnState.FAILED, Code.CALL_SCHEMA)
    return Outcome(TurnState.FAILED, frames.last_error or (ProductCode.NO_MORE if frames.continues_text else ProductCode.NO_ANSWER))


def _effort(value: str) -> Effort:
    return "low" if value == "low" else "high" if value == "high" else "medium"
