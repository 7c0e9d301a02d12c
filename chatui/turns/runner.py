"""One Turn from question to final frame: samples the model, keeps each finished frame, and shows each audience what is its to see.

This is the one module that does much; it does it by calling names. A Runner is a task of the server, not of a tab.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from collections.abc import AsyncGenerator, Callable
from typing import ParamSpec, TypeVar
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import DatabaseError, InterfaceError, OperationalError

from chatui.backends import retries
from chatui.backends.base import Backend, BackendError, Effort, EndReason, SampleEnded, SampleEvent, SampleRequest, Usage
from chatui.backends.spec import split_choice
from chatui.codes import ProductCode
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models import Turn
from chatui.models.keys import new_key
from chatui.models.turn import TurnState
from chatui.store import transcripts
from chatui.turns import groups, ledger, wire
from chatui.turns.continued_text import Rest
from chatui.turns.ledger import LeaseLostError, Outcome, Sampled
from chatui.turns.publisher import Publisher
from chatui.turns.summarizing import Summarizing
from renderer.errors import Code, ErrorCode, OpenChatMLError
from renderer.events import Assembler, Finished, FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import is_answer
from renderer.gate import Audience, may_see
from renderer.ocml import document

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

RENEW_SECONDS = 5.0
WRITE_PAUSES = (0.2, 1.0, 3.0)
"""Seconds between the attempts of a write while the database is locked or restarts; together well within the lease."""
LAYER_PAUSE = 1.0

_WIRE_TYPES = {
    TurnState.COMPLETED: "response.completed",
    TurnState.INCOMPLETE: "response.incomplete",
    TurnState.STOPPED: "response.cancel",
}


class Runner:
    """Runs one turn. ``listen`` first, then ``run``; ``stop`` at any time."""

    def __init__(self, turn: Turn, *, kind: str, after: UUID | None, continues: UUID | None = None) -> None:
        self._turn_id = turn.pk
        self._job = ledger.job_of(turn)
        self._kind = kind
        self._after = after
        self._continues = continues
        self._rest = Rest()
        self._publisher = Publisher(turn.pk, turn.conversation_id, goes_on=continues is not None)
        self._assembler = Assembler()
        self._key = new_key()
        self._parent_id = turn.question_id
        self._backend: Backend | None = None
        self._ended: SampleEnded | None = None
        self._request: tuple[str, bytes] | None = None
        self._summary: Summarizing | None = None
        self._answered = False
        self._last_error: ErrorCode | None = None
        self._sampling: asyncio.Task[Outcome] | None = None
        self._keeping: asyncio.Future[None] | None = None
        self._stopped = False
        self._lost = False
        self._control_channel = ""

    async def listen(self) -> None:
        """From now on other processes, and sockets, can reach this turn. Where the channel layer is down: once it is up again."""
        layer = groups.layer()
        with self._publisher.without_layer():
            self._control_channel = self._control_channel or await layer.new_channel()
            await layer.group_add(groups.control(self._turn_id), self._control_channel)

    def stop(self) -> None:
        """The person pressed Stop: the upstream request ends at once, what was shown is kept."""
        self._stopped = True
        if self._sampling is not None:
            self._sampling.cancel()

    def let_go(self) -> None:
        """The process ends: keep what the open frame holds and give the lease up. Synchronous."""
        ledger.let_go(self._job, self._checkpoint())

    async def run(self) -> None:
        """The whole turn. Never raises: whatever happens, the turn gets one terminal state and people a sentence."""
        created = wire.TurnCreated(
            str(self._job.conversation_id),
            str(self._job.question_id),
            str(self._after) if self._after else None,
            self._kind,
            str(self._continues) if self._continues else None,
        )
        self._publisher.say(created)
        aides = [asyncio.create_task(aide) for aide in (self._flush_often(), self._renew_often(), self._obey())]
        try:
            outcome = await self._outcome()
            await self._close_open_frame()
            await self._end(outcome)
        except Exception as error:  # noqa: BLE001 - the last resort; the sweep closes the turn when its lease runs out
            _log_without_content(self._turn_id, error)
        finally:
            for aide in aides:
                aide.cancel()
            await asyncio.gather(*aides, return_exceptions=True)
            with self._publisher.without_layer():
                await groups.layer().group_discard(groups.control(self._turn_id), self._control_channel)

    async def _outcome(self) -> Outcome:
        self._sampling = asyncio.create_task(self._sample())
        if self._stopped:
            self._sampling.cancel()
        try:
            return await self._sampling
        except asyncio.CancelledError:
            if self._stopped or self._lost:
                return Outcome(TurnState.STOPPED)
            self._sampling.cancel()
            return Outcome(TurnState.INTERRUPTED, Code.STREAM_TRUNCATED)
        except LeaseLostError:
            self._lost = True
            return Outcome(TurnState.STOPPED)
        except BackendError as error:
            return Outcome(TurnState.FAILED, error.code, error.detail)
        except Exception as error:  # noqa: BLE001 - any other failure is ours, and the person gets a sentence for it
            _log_without_content(self._turn_id, error)
            return Outcome(TurnState.FAILED, ProductCode.INTERNAL, type(error).__name__)

    async def _sample(self) -> Outcome:
        job = self._job = await self._insist(ledger.load, self._turn_id)
        self._parent_id = job.place_id or job.question_id
        self._rest = Rest(job.continues)
        self._publisher.stand(job.standing, job.cut_id)
        # In a thread, where the back office may be asked; the back end itself belongs to this loop.
        spec = await database_sync_to_async(connected.spec_of)(job.choice)
        self._backend = connected.backend(job.choice)
        self._summary = Summarizing(spec, job.choice, job.frames, self._publisher.step)
        request = SampleRequest(
            job.frames,
            model=split_choice(job.choice)[1],
            effort=_effort(job.effort),
            max_tokens=spec.max_answer_tokens or environment().max_answer_tokens or None,
            continues=job.continues,
            on_sent=self._note_sent,
        )
        async with contextlib.aclosing(retries.sample(self._backend, request)) as events:
            await self._take_all(events)
        return self._verdict()

    def _note_sent(self, path: str, body: bytes) -> None:
        self._request = (path, body)

    async def _take_all(self, events: AsyncGenerator[SampleEvent, None]) -> None:
        async for event in events:
            if isinstance(event, SampleEnded):
                self._ended = event
            else:
                event = FrameText(transcripts.storable(event.text)) if isinstance(event, FrameText) else event
                for raw in self._rest.feed(self._summary.take(event) if self._summary else event):
                    await self._take(raw)

    async def _take(self, event: RawEvent) -> None:
        if isinstance(event, FrameOpened):
            self._key = new_key()
        finished = self._assembler.feed(event)
        try:
            if finished is not None:
                # What a person saw must be what is kept, so a frame is kept before it is shown as closed.
                await self._keep(finished)
        finally:
            # Also when Stop comes just now: the write goes on to its end, and the frame is closed.
            self._publisher.take(event, self._key)

    async def _keep(self, finished: Finished) -> None:
        self._last_error = finished.error or self._last_error
        if not self._rest.adds_to(finished.frame) and may_see(finished.frame.header, Audience.END_USER):
            return  # no empty answers, and none twice
        # Stop must not leave a row behind that the runner does not know of: the write is awaited to its end.
        self._keeping = asyncio.ensure_future(self._write(finished))
        await asyncio.shield(self._keeping)
        self._answered = self._answered or is_answer(finished.frame.header)

    async def _write(self, finished: Finished) -> None:
        if is_answer(finished.frame.header):
            await self._write_summary()
        await self._insist(ledger.keep, self._job, self._parent_id, self._key, finished)
        self._parent_id = self._key

    async def _write_summary(self) -> None:
        """The steps that people saw stand in front of the answer; where there is none, at the end of the turn."""
        written = [(new_key(), item) for item in self._summary.finish()] if self._summary else []
        if written:
            try:
                await self._insist(ledger.keep_summary, self._job, self._parent_id, written)
                self._parent_id = written[-1][0]
            except LeaseLostError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever fails here costs the summary, never the answer behind it
                _log_without_content(self._turn_id, error)

    def _verdict(self) -> Outcome:
        reason = self._ended.reason if self._ended else EndReason.STOP
        if reason is EndReason.LENGTH:
            return Outcome(TurnState.INCOMPLETE, ProductCode.LENGTH)
        if self._answered:
            return Outcome(TurnState.COMPLETED)
        if reason is EndReason.TOOL_CALLS:
            return Outcome(TurnState.FAILED, Code.CALL_SCHEMA)
        return Outcome(TurnState.FAILED, self._last_error or (ProductCode.NO_MORE if self._rest.is_of_text else ProductCode.NO_ANSWER))

    async def _close_open_frame(self) -> None:
        if self._keeping is not None:
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self._summary is not None:
            await self._summary.aclose()
        if not self._lost:
            try:
                if self._assembler.open_frame() is not None:
                    await self._take(FrameClosed(None, Code.STREAM_TRUNCATED))
                await self._write_summary()
            except LeaseLostError:
                self._lost = True
            except Exception as error:  # noqa: BLE001 - a frame that cannot be kept or shown must not cost the turn its end
                _log_without_content(self._turn_id, error)

    async def _end(self, outcome: Outcome) -> None:
        if not self._lost:
            await self._insist(ledger.finish, self._job, outcome, self._sampled())
        self._publisher.say(
            wire.TurnEnded(
                _WIRE_TYPES.get(outcome.state, "response.failed"),
                outcome.state,
                outcome.code,
                outcome.code.sentence if outcome.code else None,
                self._publisher.elapsed(),
            )
        )
        await self._publisher.flush()

    def _sampled(self) -> Sampled:
        backend, ended = self._backend.name if self._backend else "", self._ended
        if ended is None:
            return Sampled(backend, thought_seconds=self._publisher.end_thinking(), request=self._request)
        usage = ended.usage or Usage()
        tokens = usage.prompt_tokens, usage.completion_tokens
        thought = self._publisher.end_thinking()
        return Sampled(backend, ended.model or "", *tokens, ended.turns_left_out, thought, self._request)

    async def _insist(self, step: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Ask the database, again for a while where it is locked or away. Only for steps that may be taken twice."""
        for pause in WRITE_PAUSES:
            try:
                return await database_sync_to_async(step)(*arguments, **named)
            except (OperationalError, InterfaceError) as error:
                log.warning("turn %s: the database failed (%s), trying again", self._turn_id, type(error).__name__)
                await asyncio.sleep(pause)
        return await database_sync_to_async(step)(*arguments, **named)

    async def _flush_often(self) -> None:
        try:
            await self._publisher.flush_often()
        except Exception as error:  # noqa: BLE001 - the answer is kept all the same; the page takes it from there
            _log_without_content(self._turn_id, error)

    async def _renew_often(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await database_sync_to_async(ledger.renew)(self._job, self._checkpoint())
            except LeaseLostError:
                self._lost = True
                if self._sampling is not None:
                    self._sampling.cancel()
                return
            except (DatabaseError, InterfaceError) as error:
                # The next attempt may still come within the lease, and a lease that lapsed can be renewed until a sweep takes it.
                log.warning("turn %s: could not renew its lease (%s)", self._turn_id, type(error).__name__)

    def _checkpoint(self) -> str:
        frame = self._assembler.open_frame()
        if frame is None or not frame.body:
            return ""
        try:
            return document.dump_frame(document.writable(frame))
        except OpenChatMLError:
            return ""

    async def _obey(self) -> None:
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
        except Exception as error:  # noqa: BLE001 - what cannot be shown must not make the turn deaf to Stop
            _log_without_content(self._turn_id, error)


def _effort(value: str) -> Effort:
    return "low" if value == "low" else "high" if value == "high" else "medium"


def _log_without_content(turn_id: UUID, error: Exception) -> None:
    """Where it failed, not with what: an exception's message may quote a transcript."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("turn %s failed: %s\n%s", turn_id, type(error).__name__, frames)
