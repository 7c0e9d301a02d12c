"""Runs one turn from its question to its terminal state.

A Runner belongs to the server, not to a browser tab. It loads the turn, samples the model until the answer is complete, and ends the turn.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial

from chatui import wire
from chatui.backends.base import Backend, BackendError, SampleRequest
from chatui.backends.spec import BackendSpec
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.writer import writer
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models.turn import TurnState
from chatui.observability.error_reports import log_without_content
from chatui.turns import ending, hosted_tools, ledger, opening, titles
from chatui.turns.answer_now import AnswerNowStage
from chatui.turns.calls.conductor import Conductor
from chatui.turns.checked_answers import CheckedAnswers
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.leases import LeasedTurn, leases
from chatui.turns.making_way import MakingWay
from chatui.turns.publisher import Publisher
from chatui.turns.running_turn import LeaseLostError, RunningTurn, TurnOutcome
from chatui.turns.sampling import Sampling, account_of
from chatui.turns.slot_waits import LeftToOthersError, SlotWait
from chatui.turns.slots import ProgramLimits, QueueFullError, slots
from chatui.turns.stages import ModelFrames, Stage, WayBack
from chatui.turns.stop_texts import StopTexts
from chatui.turns.summarizing import summary_of
from chatui.wire.bus import Message, bus, control
from renderer.activities.activity import Activity
from renderer.gate import Audience

log = logging.getLogger(__name__)


class Runner:
    """Runs one turn. Call ``listen`` first, then ``announce`` and ``run``; ``stop`` at any time."""

    def __init__(self, running: RunningTurn) -> None:
        self._running = running
        self._turn_id = running.turn.pk
        self.wait = SlotWait(running.turn, is_for_person=running.ask.program is None)
        self._publisher = Publisher(running, self.wait.first_number)
        self._frames: FrameRecorder | None = None
        self._stages: list[Stage] = []
        self._answer_now = AnswerNowStage()
        self._stop_texts: StopTexts | None = None
        self._sampled_before = (0, False)
        """How many frames there were when the last sampling began, and whether there was an answer."""
        self._sampling: asyncio.Task[None] | None = None
        self._conductor: Conductor | None = None
        self._samplings: list[Sampling] = []
        self._work: asyncio.Task[TurnOutcome] | None = None
        self.is_stopped = False
        self._making_way: MakingWay | None = None
        """Set once a page has a message that waits for the next sampling, which is then that of the turn that the message begins."""
        self._has_made_way = False
        self._is_lost = False
        self._failure: BaseException | None = None

    def listen(self) -> None:
        """Join the turn's group, so that sockets of all processes can reach it through the bus."""
        bus().join(control(self._turn_id), self._receive, elsewhere=False)

    def announce(self) -> None:
        """Tell pages that the turn begins, if any follow the conversation."""
        if self._publisher.is_followed:
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
        except (LeftToOthersError, LeaseLostError):  # pages are told nothing: they follow it there, or load its end
            ending.tell_program(self._running, ending.LEFT_TO_OTHERS)
            writer.post(ledger.give_up_lease, self._running.turn, (), order=self._turn_id)
        except Exception as error:  # noqa: BLE001 - the last resort; the sweep closes the turn when its lease expires
            log_without_content(log, self._turn_id, error)
        finally:
            ending.tell_program(self._running, ending.LOST)
            leases.release(self._turn_id)
            self._publisher.stop()
            bus().leave(control(self._turn_id), self._receive)
            if self._frames is not None:
                self._frames.release()

    async def _outcome(self) -> TurnOutcome:
        """Write the answer. Returns how that ended, also if it was cancelled or failed.

        Raises:
            LeftToOthersError: the process ends while the turn is queued, so another one runs it.
        """
        self._work = asyncio.create_task(self._conduct())
        if self.is_stopped:
            self._work.cancel()
        try:
            return await self._work
        except asyncio.CancelledError:
            if self.is_stopped or self._is_lost or self._failure:
                return ending.STOPPED  # after a failure or a lost lease, ``_saved`` and ``_end`` say so instead
            # Nobody cancelled the work alone: this whole task was cancelled, because the process ends.
            self._work.cancel()
            self.wait.leave()
            return ending.interrupted(has_begun=self.wait.is_over)
        except BackendError as error:
            return ending.failed_by(error)
        except QueueFullError as error:
            return TurnOutcome(TurnState.FAILED, ProductCode.TOO_MANY, retry_after=error.seconds)
        except LeftToOthersError:
            raise
        except Exception as error:  # noqa: BLE001 - any other failure is the product's own, and the person is told so
            return ending.failed_with(self._running, error)

    async def _conduct(self) -> TurnOutcome:
        """Wait for a slot, if there is a queue, and write the answer."""
        async with self.wait.slot(slots(), self._publisher.set_position, self._running.groups, _limits_of(self._running)):
            return await self._write()

    async def _write(self) -> TurnOutcome:
        """Load the turn, build the way back of the model's events, and sample."""
        running = self._running
        spec = await self._loaded()
        summary = summary_of(spec, running, self._publisher.elapsed, partial(_show_line, self._publisher, running))
        frames = self._frames = FrameRecorder(running, self._publisher, summary, self._on_write_failed)
        wanted = running.answer_format
        checked = CheckedAnswers(wanted, running) if wanted is not None else None
        before_cut = frames.before_cut if frames.continues_text else None
        recipients = running.ask.program.offer.other_recipients if running.ask.program else None
        ends = running.ask.program.stop if running.ask.program else ()
        self._stop_texts = StopTexts(ends, self._end_sampling, is_checked=checked is not None) if ends else None
        model_frames = ModelFrames(running.call_ids, recipients)
        stages: tuple[Stage | None, ...] = (model_frames, checked, self._answer_now, summary, before_cut, self._stop_texts)
        self._stages = [stage for stage in stages if stage is not None]
        way_back = WayBack(self._stages, frames.feed)
        if hosted := await hosted_tools.offered(spec, running):
            running.request = replace(running.request, hosted=hosted)
        show_asked, held = self._publisher.show_asked, partial(self._publisher.add_event, wire.Delayed("chatui:checking"))
        taken = running.request.on_taken if summary is None else lambda is_taken: summary.note_taken(is_taken, show_asked)
        wanted_format = checked.requested if checked else None
        watching = {"on_taken": taken, "take_together": self._publisher.take_together, "on_held": held}
        request = opening.first_request(running, spec, answer_format=wanted_format, **watching)
        # The backend is not loaded with the rest: it belongs to this event loop.
        outcome = await self._sampled(connected.backend(running.turn.choice), request, frames, way_back, checked)
        # An answer that reached a text at which it is to end is complete, even if it has no text before that.
        stopped_at = self._stop_texts.found if self._stop_texts is not None else ""
        return TurnOutcome(TurnState.COMPLETED, stopped_at=stopped_at) if self._has_stopped else outcome

    async def _loaded(self) -> BackendSpec:
        running = self._running
        try:
            if (spec := opening.load_at_once(running)) is None:
                spec = await pools.turns.run_with_retries(opening.load, running)
            return spec
        finally:
            # Without a model server, too, people must see the part of the answer that the turn was to continue.
            self._publisher.pages.update(running.pages)
            await self._publisher.show_before(running)

    async def _sampled(
        self, backend: Backend, request: SampleRequest, frames: FrameRecorder, way_back: WayBack, checked: CheckedAnswers | None
    ) -> TurnOutcome:
        """Sample the model, answer its tool calls, and sample again, until there is nothing more to ask."""
        running = self._running
        while True:
            if running.request.hosted is not None:  # the sources so far belong to no answer, or to one that was cut or refused
                running.request.hosted.sources.clear()
            asked = self._answer_now.applied_to(request)
            sampling = Sampling(backend, asked, way_back.feed)
            self._samplings.append(sampling)
            is_cut = await self._run_sampling(sampling, frames)
            way_back.finish()
            conductor = self._conducting()
            if is_cut:
                # Now, so that the reasoning is stored as cut even if the process dies after this.
                frames.save_now()
                if conductor is not None:
                    conductor.skip_calls()
                continue
            has_handed_back = False
            following = None
            if conductor is not None and not self._has_stopped:
                following = await self._after_calls(conductor, asked, sampling)
                has_handed_back = conductor.has_handed_back
            if following is None and checked is not None and not self._has_made_way:
                following = checked.follow(asked, frames.written, is_over=has_handed_back)
            if following is None:
                outcome = ending.verdict(sampling, frames, running.ask.program, has_handed_back=has_handed_back)
                outcome = checked.verdict(outcome) if checked else outcome
                return TurnOutcome(TurnState.COMPLETED) if self._has_made_way else outcome
            request = following

    async def _after_calls(self, conductor: Conductor, asked: SampleRequest, sampling: Sampling) -> SampleRequest | None:
        """The request that follows the calls of a sampling; None if none does, or if a message of the person takes its place."""
        following = await conductor.follow(asked, sampling)
        if following is None:
            return None
        # Only while a page is there, which sends the message: without one, the answer would just be cut.
        if self._making_way is not None and self._publisher.is_watched:
            self._has_made_way = await self._making_way.is_wanted()
        if self._has_made_way:
            return None
        await self.wait.take_back(lambda place: self._publisher.add_event(wire.Queued(place)))
        return following

    async def _run_sampling(self, sampling: Sampling, frames: FrameRecorder) -> bool:
        """Returns whether "answer now" has cut the sampling, or was pressed as it ended without an answer: another one must follow.

        Raises:
            CancelledError: the turn itself was cancelled.
            BackendError: see ``Sampling.run``; not raised while the sampling is being cut.
        """
        self._sampled_before = (len(frames.written), frames.has_answer)
        self._sampling = asyncio.create_task(sampling.run())
        try:
            await self._sampling
        except (asyncio.CancelledError, BackendError):
            task = asyncio.current_task()
            if self._has_stopped and not (task is not None and task.cancelling()):
                return False
            if not self._answer_now.is_cutting or (task is not None and task.cancelling()):
                raise
            return True
        pressed = self._answer_now
        return pressed.is_pressed and not pressed.is_applied and frames.has_answer is self._sampled_before[1]

    @property
    def _has_stopped(self) -> bool:
        """Whether the answer has reached one of its program's stop texts."""
        return self._stop_texts is not None and self._stop_texts.has_stopped

    def _end_sampling(self) -> None:
        if self._sampling is not None:
            self._sampling.cancel()

    def press_answer_now(self) -> bool:
        """The person wants the answer now. Returns whether this has an effect: the model has thought, and has not begun to answer. Only
        the first call counts, and none in a turn that continues an answer."""
        frames = self._frames
        if frames is None or self._answer_now.is_pressed or self.is_stopped or self._running.continued_turn is not None:
            return False
        if frames.is_answering or not (frames.written or frames.open_header):
            return False
        is_cutting = self._sampling is not None and not self._sampling.done()
        self._answer_now.press(frames, self._sampled_before[0], is_cutting=is_cutting)
        if is_cutting and self._sampling is not None:
            self._sampling.cancel()
        return True

    def _conducting(self) -> Conductor | None:
        """What runs the turn's calls, once there are any."""
        if self._conductor is None and self._frames is not None and self._frames.waits_for_tool:
            self._conductor = Conductor(self._running, self._frames, self._publisher)
            self._conductor.waiting.on_wait = self.wait.lend
        return self._conductor

    async def _saved(self, outcome: TurnOutcome) -> TurnOutcome:
        """Wait until the frames are stored but for the last, which are stored with the end. Returns the outcome, which is a failure if they
        could not be."""
        if self._frames is None or self._is_lost:
            return outcome
        if conductor := self._conducting():
            conductor.close()
        await self._frames.close()
        if not self._frames.are_saved:
            await self._publisher.saving(asyncio.create_task(self._frames.saved()))
        if self._failure is None or self._is_lost:
            return outcome
        self._frames.take_unsaved()  # they would follow a frame that is not stored
        return ending.failed_with(self._running, self._failure)

    async def _end(self, outcome: TurnOutcome) -> None:
        await self._publisher.catch_up()
        thought, running = self._publisher.end_thinking(), self._running
        by_server = hosted_tools.used(running.request.hosted)
        running.account = account_of(self._samplings, thought, turns_left_out=running.turns_left_out, by_server=by_server)
        if self._has_stopped and running.account.output_tokens is None:  # the server was not heard to the end, and clients want counts
            spent = running.account.spent
            running.account = replace(running.account, input_tokens=spent.input, output_tokens=spent.output)
        running.outcome = outcome
        if self._is_lost:
            raise LeaseLostError
        await ending.end(running, self._publisher, self._frames)

    def _request_title(self) -> None:
        """Request a title for a new conversation, in a separate task. Not if part of the answer was shown and then withdrawn."""
        frames, running = self._frames, self._running
        if frames is not None and running.after is None and not (self._is_lost or frames.is_withheld or running.ask.program):
            titles.begin(running, frames.written, has_made_way=self._has_made_way)

    def _on_lease_lost(self) -> None:
        """The turn was ended elsewhere, or another process has it: nothing more may be written."""
        self._is_lost = True
        self._cancel()

    def _on_write_failed(self, error: BaseException) -> None:
        if isinstance(error, LeaseLostError):
            self._on_lease_lost()
        elif self._failure is None:
            self._failure = error
            self._cancel()

    def _receive(self, group: str, message: Message) -> None:
        audience = Audience(str(message.get("audience", Audience.END_USER)))
        if message["type"] == "turn.followed":
            self._publisher.note_follower(audience)
        elif message["type"] != "turn.snapshot":
            self._take_wish(message)
        elif not leases.may_be_lost:  # otherwise the page asks again, and may be told of its end
            self._publisher.send_snapshot(audience, str(message["process"]), str(message["group"]))

    def _take_wish(self, message: Message) -> None:
        """The person wants something of the turn."""
        if message["type"] == "turn.stop":
            self.stop()
        elif message["type"] == "turn.answer_now":
            if self.press_answer_now():
                self._publisher.note_answer_now()
                if self._conductor is not None:
                    self._conductor.waiting.give_up()
        elif message["type"] == "turn.make_way":
            if self._making_way is None:
                self._making_way = MakingWay(self._turn_id)
            is_wanted = bool(message["is_wanted"]) and not self._running.ask.program
            self._making_way.take(str(message["page"]), str(message["process"]), is_wanted=is_wanted)
        elif message["type"] == "turn.decided" and self._conductor is not None:
            self._conductor.waiting.look()

    def _cancel(self) -> None:
        if self._work is not None:
            self._work.cancel()


def _limits_of(running: RunningTurn) -> ProgramLimits | None:
    """The limits for the answer to a program; None for one to a person."""
    if (program := running.ask.program) is None:
        return None
    env, owner = environment(), running.turn.asked_by_id
    at_once = max((most for group, most in env.group_api_at_once.items() if group in running.groups), default=env.api_at_once)
    return ProgramLimits(owner, at_once, running.ask.key, program.at_once, env.api_wait_seconds)


def _show_line(publisher: Publisher, running: RunningTurn, line: Activity) -> None:
    """Show people, and a program, a line of the summary. Until that is stored, the turn's pieces have it."""
    publisher.step(line)
    running.pieces.note_line(line, running.ask.program.stream.step_keys[-1] if running.ask.program else None)
