"""Runs the tool calls of a sample, and prepares the next request to the model, for every wire format.

Calls to a program's own functions are handed back to it after checking them. They are never executed here. Every call gets a reply, either
the tool's result or an error, so that the model can continue. A call runs at most once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chatui import wire
from chatui.backends.base import EndReason, GivenReasoning, SampleRequest
from chatui.codes import ProductCode, counted
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.display import fragments, tool_words
from chatui.env import environment
from chatui.models.keys import new_key
from chatui.models.tools import Decision
from chatui.observability import measures
from chatui.observability.error_reports import log_without_content
from chatui.site.languages import SOURCE
from chatui.tools import catalogue, replies
from chatui.tools.execution import Execution, ToolFailedError, ToolsBusyError
from chatui.tools.replies import Provenance, ToolReply
from chatui.tools.tool import EFFECT_UNKNOWN, CallingTurn, CallNeedsSignInError, Tool, ToolError
from chatui.turns.asks import FunctionOffer
from chatui.turns.calls import claims
from chatui.turns.calls.approvals import ApprovalWait
from chatui.turns.calls.file_access import DocumentsOfTurn, FilesOfTurn, SessionsOfTurn
from chatui.turns.calls.person import PersonOfTurn
from chatui.turns.calls.requested import Requested, reply_frame, requested, unanswered
from chatui.turns.calls.tool_time import ToolTime
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.publisher import Publisher
from chatui.turns.running_turn import RunningTurn
from chatui.turns.sampling import Sampling
from renderer import history
from renderer.errors import Code
from renderer.frame_kinds import TOOL_LINE, is_thought
from renderer.frames import Frame, Role
from renderer.gate import Audience, may_see
from renderer.markup.citations import CitableSource

log = logging.getLogger(__name__)

MAX_FAILED_ROUNDS = 3
"""After this many rounds without a call that could be run, the turn ends: the model does not understand the errors."""
CLAIM_PATIENCE = 20.0
"""How long a call waits for a database that is locked or away, in seconds, before it is refused."""
ERROR_CHARS = 1000
_NO_MORE = "No more calls are possible in this answer. Answer with what you have."
_ONE_AT_A_TIME = "Only one call is possible at a time, so this one was not carried out. Make it again after the reply to the other one."
_IN_PLAIN_FORM = "A function is called with nothing in the header but its name."
_NOT_SENT = "The answer ended while the call waited for a place. It was not sent, and had no effect."
_CANCELLED = f"The call was cancelled. {EFFECT_UNKNOWN}"
_DECLINED = {
    Decision.DECLINED: "The person declined this call, and it was not run. Do not repeat it. Go on without it, or say what you would need.",
    Decision.NEVER: "The person does not want this tool in this conversation. The call was not run. Go on without it.",
    Decision.LAPSED: "Nobody decided about this call in time, so it was declined and not run. Go on without it.",
}


class Conductor:
    """Runs the calls of one turn. It is made for the first one. Call ``follow`` after each sampling."""

    def __init__(self, running: RunningTurn, frames: FrameRecorder, publisher: Publisher) -> None:
        """``publisher`` is given the numbers of calls that wait for the person, of texts for them, and of files; tools add to its
        ``pages``."""
        row, program, pages = running.turn, running.ask.program, publisher.pages
        self.waiting = ApprovalWait(running.turn, publisher.set_waiting_calls)
        self._running = running
        self._frames = frames
        # A program has no page on which it could find files.
        has_files = program is None and environment().files_of_answer
        files = FilesOfTurn(row, lambda count: publisher.add_event(wire.FilesCame(count))) if has_files else None
        documents = DocumentsOfTurn(row, asks_collections=not running.keeps_replies)
        of_turn = (row.pk, row.conversation_id, row.asked_by_id, running.own_questions)
        self._person = PersonOfTurn(running, frames, publisher, self.waiting) if program is None else None
        turn = CallingTurn(*of_turn, pages=pages, files=files, documents=documents, sessions=SessionsOfTurn(row), person=self._person)
        self._pages = pages
        self._stored_pages = set(pages)
        self._calling = turn
        self._tools = {name: tool.for_turn(turn) for name, tool in running.tools.items()}
        self._offer = program.offer if program else FunctionOffer()
        self._own_calls: list[Frame] = []
        """The checked calls to the program's functions."""
        self.has_handed_back = False
        """Whether they were handed back, so that the turn is over and their replies will come in another request."""
        self._given_back: dict[str, GivenReasoning] = {}
        self._not_kept: dict[str | None, Frame] = {}
        """Replies that the record does not have, as the model reads them in this turn, by the ids of their calls."""
        self._calls_left = min(filter(None, (environment().tool_calls, program.offer.max_calls if program else None)))
        self._time = ToolTime(environment().tool_turn_seconds)
        self._failed_rounds = 0
        self._calls_run = 0
        self._started: dict[str, Execution | None] = {}
        self._loop = asyncio.get_running_loop()

    async def follow(self, request: SampleRequest, sampling: Sampling) -> SampleRequest | None:
        """Reply to the calls of the sampling. Returns the next request; None if the turn ends, because nothing was called, too many rounds
        were in vain, the server filtered the content, or a program must run the remaining calls."""
        calls = unanswered(self._frames.written)
        if not calls or sampling.ended.reason is EndReason.CONTENT_FILTER or self._failed_rounds == MAX_FAILED_ROUNDS:
            return None
        self._frames.close_open_frame()
        self._remember(calls, sampling.ended.reasoning)
        try:
            has_run = await self._answer(calls, self._tools if request.tools else {}, over_ids=sampling.is_over_ids)
        except asyncio.CancelledError:
            self._cancel()
            raise
        await self._store_pages()
        if self._hand_back():
            return None
        self._failed_rounds += not has_run
        written = self._frames.written
        if self._not_kept:
            written = [self._not_kept.get(each.header.call_id, each) if each.header.role == Role.TOOL else each for each in written]
        frames = history.frames_for_prompt((*self._running.request.frames, *written))
        # Once one of our tools has run, the model may answer: if it still had to call tools, it never could.
        must_call = request.must_call and not has_run
        # The prompt leaves out some of the reasoning so far, which the model may repeat.
        thoughts = dict.fromkeys((*request.thoughts, *(frame.body for frame in self._frames.written if is_thought(frame.header))))
        request = replace(request, thoughts=tuple(thoughts))
        return replace(request, frames=frames, cut_answer=None, given_back=dict(self._given_back), must_call=must_call)

    async def _store_pages(self) -> None:
        """Store the pages that were opened since the last time, so that later answers can cite them. Titles of documents are stored only
        if replies are kept."""
        opened = {cursor: page for cursor, page in list(self._pages.items()) if cursor not in self._stored_pages}
        if not opened:
            return
        if not self._running.keeps_replies:  # titles are names of documents
            opened = {cursor: CitableSource(page.url, "") if page.is_document else page for cursor, page in opened.items()}
        try:
            await writer.run(claims.store_pages, self._running.turn, opened, order=self._running.turn.pk, patience=CLAIM_PATIENCE)
        except DatabaseBusyError:
            log.warning("turn %s: the pages that it opened could not be kept", self._running.turn.pk)
        else:
            self._stored_pages.update(opened)

    def _remember(self, calls: Sequence[Frame], reasoning: GivenReasoning | None) -> None:
        """Remember reasoning to send back to its server. Once there is an answer it is dropped, as its frames are."""
        if self._frames.has_answer:
            self._given_back.clear()
        elif reasoning is not None:
            self._given_back[calls[0].header.call_id or ""] = reasoning

    async def _answer(self, calls: Sequence[Frame], tools: Mapping[str, Tool], *, over_ids: bool) -> bool:
        """Reply to each call, in the order in which the results arrive. Returns whether any of them was run.

        ``tools``: those that the model was offered when it made the calls. ``over_ids``: see ``requested``.
        """
        runnable = [call for frame in calls if (call := self._prepared(frame, tools, over_ids=over_ids)) is not None]
        asked = [call for call in runnable if catalogue.needs_approval(call.tool)]
        before = self._calls_run
        # Calls that need no approval run while the person decides about the others.
        async with asyncio.TaskGroup() as group:
            if asked:
                group.create_task(self._ask(asked, group))
            await self._start([call for call in runnable if call not in asked], group)
        return self._calls_run > before

    async def _ask(self, calls: Sequence[Requested], group: asyncio.TaskGroup) -> None:
        """Ask the person about these calls, and run those that they allow, just as they were shown."""
        calls = [foreseen for call in calls if (foreseen := self._foreseen(call))]
        if not calls:
            return

        def settled(call: Requested, decision: Decision) -> None:
            if decision.allows:
                group.create_task(self._start([call], group))
            else:
                self._reply(call.frame, replies.failed(ProductCode.TOOL_DECLINED, _DECLINED[decision], call.provenance()))

        # So that a page loaded now shows the cards together with what the model wrote before its calls.
        self._frames.save_now()
        try:
            await self.waiting.settle(calls, settled)
        except DatabaseBusyError:
            for call in calls:
                self._reply(call.frame, replies.failed(ProductCode.TOOL_FAILED, "The person could not be asked.", call.provenance()))

    def _foreseen(self, call: Requested) -> Requested | None:
        """The call as it will run, whatever happens while the person decides. One that would be in vain gets its reply."""
        if call.tool.foresees is None:
            return call
        try:
            found = call.tool.foresees(self._calling, call.arguments)
        except ToolError as error:
            self._reply(call.frame, replies.failed(ProductCode.TOOL_FAILED, str(error), call.provenance()))
            return None
        return replace(call, arguments=found.arguments, receiver=found.receiver)

    async def _start(self, calls: Sequence[Requested], group: asyncio.TaskGroup) -> None:
        if not calls:
            return
        ask = self._running.ask
        language = SOURCE if ask.program else fragments.language_of(ask.language)
        for call in calls:
            if call.tool.label:
                self._frames.add(Frame(TOOL_LINE, tool_words.line(call.tool, call.arguments, language)))
        for call in await self._claimed(calls):
            self._calls_run += 1
            self._started[call.call_id] = None
            group.create_task(self._run_call(call))

    def _prepared(self, frame: Frame, tools: Mapping[str, Tool], *, over_ids: bool) -> Requested | None:
        """The call, if it can run here. A call that cannot run gets its reply; a program's own call is noted for it."""
        if self._calls_left <= 0 or not self._time.left:
            found: Requested | ToolReply = replies.failed(ProductCode.TOOL, _NO_MORE, Provenance("chatui"))
        else:
            found = requested(frame, tools, over_ids=over_ids)
        if isinstance(found, Requested) and found.tool.is_run_by_caller:
            found = self._refusal(frame) or found
        if isinstance(found, ToolReply):
            self._reply(frame, found)
            return None
        self._calls_left -= 1
        if not found.tool.is_run_by_caller:
            return found
        self._own_calls.append(frame)
        return None

    def _refusal(self, call: Frame) -> ToolReply | None:
        """The reply to a call of the program's function that has the wrong form, or is one too many; None if it can be handed back."""
        if not may_see(call.header, Audience.PROGRAM, self._offer.recipients):
            return replies.failed(Code.CALL_SCHEMA, _IN_PLAIN_FORM, Provenance("chatui"))
        if self._own_calls and not self._offer.is_parallel:
            return replies.failed(ProductCode.TOOL, _ONE_AT_A_TIME, Provenance("chatui"))
        return None

    def _hand_back(self) -> bool:
        """Hand back the program's calls, now that no other call of the sampling is running. Returns whether there are any."""
        if self._running.ask.program is not None and self._own_calls:
            self.has_handed_back = True
            for call in self._own_calls:
                self._running.ask.program.stream.call(call, self._offer.names)
        return self.has_handed_back

    async def _claimed(self, calls: Sequence[Requested]) -> list[Requested]:
        """Claim the calls, and return those that are ours to run, once. The claims are committed before any call runs."""
        wanted = [(new_key(), call.call_id, call.tool) for call in calls]
        try:
            mine = await writer.run(claims.claim, self._running.turn, wanted, order=self._running.turn.pk, patience=CLAIM_PATIENCE)
        except DatabaseBusyError:
            mine = set()
        for call in calls:
            if call.call_id not in mine:
                self._reply(call.frame, replies.failed(ProductCode.TOOL_FAILED, "The call could not be begun.", call.provenance()))
        return [call for call in calls if call.call_id in mine]

    async def _run_call(self, call: Requested) -> None:
        began = asyncio.get_running_loop().time()
        with self._time.measured(), measures.span("tool call", tool=call.tool.name) as span:
            execution = Execution(call.tool, call.arguments, environment().tool_reply_chars, on_person=self._waits_for_person)
            self._started[call.call_id] = execution
            result = await self._result(call, execution)
            span.set_attributes(code="" if isinstance(result, str) else result[0].value)
        took = round((asyncio.get_running_loop().time() - began) * 1000)
        if isinstance(result, str):
            is_plain = call.tool.recipient is not None
            enveloped = replies.succeeded(result, call.provenance(took), execution.note)
            reply = replies.plain_text_reply(result) if is_plain else enveloped
        else:
            code, sentence = result
            reply = replies.failed(code, sentence, call.provenance(took))
        self._reply(call.frame, reply, keeps=call.tool.keeps_replies)

    def _waits_for_person(self, is_waiting: bool) -> None:
        self._loop.call_soon_threadsafe(self._time.pauses if is_waiting else self._time.goes_on)

    async def _result(self, call: Requested, execution: Execution) -> str | tuple[Code | ProductCode, str]:
        """The tool's result as JSON; or an error code and a sentence for the model."""
        seconds = min(call.seconds, self._time.left)
        if not seconds:
            return ProductCode.TOOL, _NO_MORE
        try:
            return await execution.result(seconds, lambda: self._time.left)
        except TimeoutError:
            return Code.TOOL_TIMEOUT, f"The tool was stopped after {seconds:g} seconds. {EFFECT_UNKNOWN}"
        except ToolsBusyError:
            return Code.TOOL_TIMEOUT, "Too many calls are at work. This one waited for a place, was not sent, and had no effect."
        except CallNeedsSignInError as error:
            if self._person is not None:
                await self._person.needs_account(call.tool.shown_title, error.server)
            return ProductCode.TOOL_SIGN_IN, str(error)
        except ToolError as error:
            return ProductCode.TOOL_FAILED, replies.in_middle(str(error), ERROR_CHARS)
        except ToolFailedError as error:
            log.warning("turn %s: a tool failed (%s)", self._running.turn.pk, error)
            return ProductCode.TOOL_FAILED, f"The tool failed ({error})."

    def _reply(self, frame: Frame, reply: ToolReply, *, keeps: bool = True) -> None:
        """Record the reply to a call. A second reply is dropped, because the model has read the first one. ``keeps``: if not, the record
        only says that there was one."""
        if frame not in unanswered(self._frames.written):
            log.warning("turn %s: a reply to a call that waits for none was dropped", self._running.turn.pk)
            return
        if reply.error:
            log.info("turn %s: a call of a tool failed: %s", self._running.turn.pk, counted([reply.error]))
        if not keeps:
            self._not_kept[frame.header.call_id] = reply_frame(frame.header, reply)
            reply = replies.not_kept(reply)
        self._frames.add(reply_frame(frame.header, reply), reply.error)

    def skip_calls(self) -> None:
        """Reply to the calls of a sampling that was cut by "Answer now", saying so."""
        self._cancel("The answer was asked for at once, so the tool was not run. It had no effect.")

    def close(self) -> None:
        """End the turn's calls. Those without a reply get one that says so, so that the record is complete. Never raises."""
        if self._person is not None:
            self._person.close()
        try:
            self._cancel()
        except Exception as error:  # noqa: BLE001 - a reply that cannot be written must not keep the turn from ending
            log_without_content(log, self._running.turn.pk, error)

    def _cancel(self, not_run: str = "The answer ended before the tool was run. It had no effect.") -> None:
        handed_back = self._own_calls if self.has_handed_back else []
        if calls := [frame for frame in unanswered(self._frames.written) if frame not in handed_back]:
            self._frames.close_open_frame()
        for frame in calls:
            sentence = self._cancelled(frame.header.call_id, not_run)
            self._reply(frame, replies.failed(Code.TOOL_CANCELLED, sentence, Provenance("chatui")))

    def _cancelled(self, call_id: str | None, not_run: str) -> str:
        if call_id not in self._started:
            return not_run
        execution = self._started[call_id]
        return _CANCELLED if execution is None or execution.has_begun else _NOT_SENT
