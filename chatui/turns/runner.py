"""Runs one turn from its question to its terminal state.

A Runner belongs to the server, not to a browser tab. It loads the turn, samples the model until the answer is complete, and ends the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from django.utils import timezone

from chatui import wire
from chatui.backends.base import BackendError
from chatui.backends.hosted_tools import HostedTools
from chatui.codes import Cause, ProductCode
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.display import conversation_list, fragments
from chatui.display.conversation import EndedTurn, sources_of
from chatui.model_servers import connected
from chatui.models.turn import Turn, TurnState
from chatui.observability.error_reports import log_without_content
from chatui.store import context_use
from chatui.turns import ending, ledger, opening, titles
from chatui.turns import slots as turns_slots
from chatui.turns.answer_now import AnswerNowButton
from chatui.turns.calls.conductor import Conductor
from chatui.turns.checked_answers import CheckedAnswers, format_of
from chatui.turns.ending import failed_by, note_end, verdict
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.leases import LeasedTurn, leases
from chatui.turns.publisher import Publisher
from chatui.turns.running_turn import LeaseLostError, RunningTurn, TurnOutcome
from chatui.turns.sampling import Sampling, account_of
from chatui.turns.slots import slots
from chatui.turns.streams.program import Ended
from chatui.turns.summarizing import summary_of
from chatui.wire import bus as wire_bus
from chatui.wire.bus import Message, bus
from renderer.errors import Code
from renderer.frame_kinds import is_answer
from renderer.gate import Audience, show

log = logging.getLogger(__name__)

T = TypeVar("T")

SAVING_SECONDS = 1.0
"""After this long, pages show that the answer is being saved."""

END_SECONDS = 0.05
"""The longest time for which the end of a turn waits for the writes of others, to share their transaction. Its text is already shown."""
END_SECONDS_EACH = 0.02
"""How much of it for each other turn of this process: where there are few, hardly a write comes to share a transaction with."""

SHOWN_SECONDS = 10.0
"""How long the end of a turn waits for the part below its answer, which normally takes milliseconds. The text is already shown."""

_WIRE_TYPES: dict[str, wire.EndType] = {
    TurnState.COMPLETED: "response.completed",
    TurnState.INCOMPLETE: "response.incomplete",
    TurnState.STOPPED: "response.cancel",
}


class Runner:
    """Runs one turn. Call ``listen`` first, then ``announce`` and ``run``; ``stop`` at any time."""

    def __init__(self, running: RunningTurn) -> None:
        self._running = running
        self._turn_id = running.turn.pk
        self.wait = turns_slots.SlotWait(running.turn, is_for_person=running.program is None)
        self._publisher = Publisher(running, self.wait.first_number)
        self._frames: FrameRecorder | None = None
        self._answer_now: AnswerNowButton | None = None
        self._conductor: Conductor | None = None
        self._samplings: list[Sampling] = []
        self._hosted: HostedTools | None = None
        self._work: asyncio.Task[TurnOutcome] | None = None
        self.is_stopped = False
        self._is_lost = False
        self._failure: BaseException | None = None

    def listen(self) -> None:
        """Join the turn's group, so that sockets of all processes can reach it through the bus."""
        bus().join(wire_bus.control(self._turn_id), self._receive, elsewhere=False)

    def announce(self) -> None:
        """Tell pages that the turn begins."""
        self._publisher.begin(opening.created(self._running))

    def stop(self) -> None:
        """The person pressed Stop: the upstream request ends at once, and what was shown is stored."""
        self.is_stopped = True
        self._cancel()

    def release(self) -> None:
        """The process is ending: store the text of the open frames and give up the lease. Synchronous."""
        ledger.give_up_lease(self._running.turn, self._running.pieces.rows())

    async def run(self) -> None:
        """Run the whole turn. Never raises: whatever goes wrong, the turn gets one terminal state and people get a message, unless
        it is still queued when the process ends."""
        leases.hold(self._turn_id, LeasedTurn(self._running.pieces, self._on_lease_lost, self.stop))
        try:
            await self._end(await self._saved(await self._outcome()))
            self._request_title()
        except (turns_slots.LeftToOthersError, LeaseLostError):  # pages are told nothing: they follow it there, or load its end
            self._send_to_program(Ended(TurnState.INTERRUPTED, ProductCode.SERVER_BUSY))
            writer.post(ledger.give_up_lease, self._running.turn, (), order=self._turn_id)
        except Exception as error:  # noqa: BLE001 - the last resort; the sweep closes the turn when its lease expires
            log_without_content(log, self._turn_id, error)
        finally:
            self._send_to_program(Ended(TurnState.FAILED, ProductCode.INTERNAL))
            leases.release(self._turn_id)
            self._publisher.stop()
            bus().leave(wire_bus.control(self._turn_id), self._receive)
            if self._frames is not None:
                self._frames.release()

    async def _outcome(self) -> TurnOutcome:
        self._work = asyncio.create_task(self._conduct())
        if self.is_stopped:
            self._work.cancel()
        try:
            return await self._work
        except asyncio.CancelledError:
            if self.is_stopped or self._is_lost or self._failure:
                return TurnOutcome(TurnState.STOPPED)
            self._work.cancel()
            self.wait.leave()
            code = Code.STREAM_TRUNCATED if self.wait.is_over else ProductCode.SERVER_BUSY
            return TurnOutcome(TurnState.INTERRUPTED, code, cause=Cause.PROCESS_ENDED.value)
        except BackendError as error:
            return failed_by(error)
        except turns_slots.LeftToOthersError:
            raise
        except Exception as error:  # noqa: BLE001 - any other failure is the product's own, and the person is told so
            return self._failed_with(error)

    async def _conduct(self) -> TurnOutcome:
        """Wait for a slot, if there is a queue, and write the answer."""
        async with self.wait.slot(slots(), self._publisher.set_position, self._running.groups):
            return await self._write()

    async def _write(self) -> TurnOutcome:
        """Sample the model, answer its tool calls, and sample again, until there is nothing more to ask."""
        running = self._running
        try:
            spec = opening.load_at_once(running)
            if spec is None:
                spec = await pools.turns.run_with_retries(opening.load, running)
        finally:
            # Without a model server, too, people must see the part of the answer that the turn was to continue.
            self._publisher.pages.update(running.pages)
            await self._publisher.show_before(running)
        # Not loaded with the rest: the backend belongs to this event loop.
        backend = connected.backend(running.turn.choice)
        written = opening.written_of(running, has_tools=bool(running.tools or spec.server_tools))
        summary = summary_of(spec, running, written, self._publisher.elapsed, self._publisher.step)
        frames = self._frames = FrameRecorder(running, self._publisher, summary, self._on_write_failed)
        answer_now = self._answer_now = AnswerNowButton(frames, is_offered=running.continued_turn is None)
        conductor = self._conductor = Conductor(running, frames, self._publisher)
        checked = CheckedAnswers(format_of(running), running, answer_now.feed)
        request = opening.first_request(running, spec, checked.requested)
        self._hosted = await opening.offered(spec, running, request)
        if self._hosted is not None:
            request = replace(request, hosted=self._hosted)
        while True:
            opening.forget_sources(self._hosted)
            asked = answer_now.applied_to(request)
            sampling = Sampling(backend, asked, checked.feed, self._publisher.show_checking)
            self._samplings.append(sampling)
            if await answer_now.run(sampling.run()):
                conductor.skip_calls()
                continue
            following = await conductor.follow(asked, sampling)
            following = following or checked.follow(asked, frames.written, is_over=conductor.handing.has_handed_back)
            if following is None:
                return checked.verdict(verdict(sampling, frames, conductor.handing))
            request = following

    async def _saved(self, outcome: TurnOutcome) -> TurnOutcome:
        """Wait until all frames are stored. Returns the outcome, which is a failure if they could not be."""
        if self._frames is None or self._is_lost:
            return outcome
        if self._conductor is not None:
            self._conductor.close()
        await self._frames.close()
        if not self._frames.are_saved:
            await self._wait_for_write(asyncio.create_task(self._frames.saved()))
        return outcome if self._failure is None or self._is_lost else self._failed_with(self._failure)

    async def _end(self, outcome: TurnOutcome) -> None:
        await self._publisher.catch_up()
        running = self._running
        running.account = account_of(
            self._samplings,
            self._publisher.end_thinking(),
            turns_left_out=running.turns_left_out,
            by_server=opening.used(self._hosted),
            ended_at=timezone.now(),
        )
        if self._is_lost:
            raise LeaseLostError
        running.outcome = outcome
        await self._store_end()
        outcome, account = running.outcome, running.account
        # Even if the lease is reported lost meanwhile: the lease of an ended turn is no longer renewed.
        note_end(running, self._publisher.elapsed())
        answered = conversation_list.answered(running.turn.conversation_id, timezone.now(), has_news=ledger.is_news(outcome.state))
        bus().send(wire_bus.person(running.turn.asked_by_id), answered)
        self._send_to_program(Ended(outcome.state, outcome.code, account.input_tokens, account.output_tokens, outcome.retry_after))
        below = await self._render_end(ledger.ended(running))
        await self._publisher.catch_up()
        self._publisher.end(
            wire.TurnEnded(
                _WIRE_TYPES.get(outcome.state, "response.failed"),
                outcome.state,
                outcome.code,
                self._publisher.elapsed(),
                context_use.percent(account.context, outcome.code),
                account.turns_left_out or None,
                *below,
            )
        )

    async def _store_end(self) -> None:
        """Store the end, together with the frames that waited for it. It becomes a failure if those frames cannot be stored. Raises
        LeaseLostError: the turn is no longer ours."""
        last = self._frames.take_last_frames() if self._frames is not None else None
        if last is None or self._frames is None:
            await self._stored(partial(ending.store_end, self._running, None))
            return
        messages, failure = await ending.store(self._running, last, self._stored)
        if failure is None:
            self._frames.note_stored(messages)
        else:
            self._running.outcome = self._failed_with(failure)
            await self._stored(partial(ending.store_end, self._running, None))

    async def _stored(self, work: Callable[[], T]) -> T:
        # Not if somebody waits for it: a program that asks again at once, or a person who has pressed Stop.
        is_awaited = self._running.program is not None or self.is_stopped
        wait = 0.0 if is_awaited else min(END_SECONDS, END_SECONDS_EACH * (leases.count - 1))
        return await self._wait_for_write(writer.post(work, order=self._turn_id, wait=wait))

    def _send_to_program(self, ended: Ended) -> None:
        if self._running.program is not None:
            self._running.program.stream.end(ended)

    def _request_title(self) -> None:
        """Request a title for a new conversation, in a separate task. Not if part of the answer was shown and then withdrawn."""
        frames = self._frames
        if frames is not None and not (self._is_lost or frames.is_withheld or self._running.program):
            titles.begin(self._running, frames.written)

    async def _render_end(self, turn: Turn) -> fragments.Below:
        """The part below the answer. Empty if no page shows the whole answer, or if it cannot be read in time: pages then fetch it."""
        if not self._publisher.is_shown_whole:
            return fragments.Below()
        written = self._frames.written if self._frames else ()
        texts = [show(frame, Audience.END_USER) for frame in written if is_answer(frame.header)]
        sources = sources_of(texts, self._publisher.pages, [turn])
        stored = self._frames.stored if self._frames else []
        ended = EndedTurn(turn, self._publisher.shown(), is_first=self._running.has_new_question, written=stored)
        render = partial(fragments.answer_end, ended, fragments.language_of(self._running.language), sources)
        try:
            if ended.reads_nothing:
                return render()
            async with asyncio.timeout(SHOWN_SECONDS):
                return await pools.turns.run(render)
        except (TimeoutError, DatabaseBusyError):
            log.warning("turn %s: the part below its answer could not be read in time", self._turn_id)
        except Exception as error:  # noqa: BLE001 - the answer is stored all the same, and the page loads it from there
            log_without_content(log, self._turn_id, error)
        return fragments.Below()

    async def _wait_for_write(self, saving: asyncio.Future[T]) -> T:
        """Wait for the database, and let pages know if that takes long. The write continues even if this wait is cancelled."""
        show_saving = asyncio.get_running_loop().call_later(SAVING_SECONDS, self._publisher.show_saving)
        try:
            return await asyncio.shield(saving)
        finally:
            show_saving.cancel()

    def _on_lease_lost(self) -> None:
        """The turn was ended elsewhere, or another process has it: nothing more may be written."""
        self._is_lost = True
        self._cancel()

    def _on_write_failed(self, error: BaseException) -> None:
        """A frame could not be stored."""
        if isinstance(error, LeaseLostError):
            self._on_lease_lost()
        elif self._failure is None:
            self._failure = error
            self._cancel()

    def _failed_with(self, error: BaseException) -> TurnOutcome:
        log_without_content(log, self._turn_id, error)
        return TurnOutcome(TurnState.FAILED, ProductCode.INTERNAL, type(error).__name__)

    def _receive(self, group: str, message: Message) -> None:
        audience = Audience(str(message.get("audience", Audience.END_USER)))
        if message["type"] == "turn.stop":
            self.stop()
        elif message["type"] == "turn.answer_now":
            self._press_answer_now()
        elif message["type"] == "turn.decided" and self._conductor is not None:
            self._conductor.waiting.look()
        elif message["type"] == "turn.followed":
            self._publisher.note_follower(audience)
        elif message["type"] == "turn.snapshot" and not leases.may_be_lost:  # otherwise the page asks again, and may be told of its end
            self._publisher.send_snapshot(audience, str(message["process"]), str(message["group"]))

    def _press_answer_now(self) -> None:
        if self._answer_now is not None and not self.is_stopped and self._answer_now.press():
            self._publisher.note_answer_now()
            if self._conductor is not None:
                self._conductor.waiting.give_up()

    def _cancel(self) -> None:
        if self._work is not None:
            self._work.cancel()
