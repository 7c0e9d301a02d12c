"""Summarizes a turn's hidden reasoning line by line while the turn runs, until the answer begins."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from weakref import WeakKeyDictionary

from chatui import measures
from chatui.backends.base import Backend, BackendError, SampleRequest
from chatui.backends.spec.choices import split_choice
from chatui.backends.spec.definition import BackendSpec
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.model_servers import connected
from chatui.models.usage.entry import UsageKind
from chatui.turns import own_requests
from chatui.turns.ledger import Job
from chatui.turns.summaries import server_summaries, summary_notes
from chatui.turns.summaries.turn_summary import TurnSummary
from chatui.usage import posting
from chatui.usage.counting import Charge, Spent
from renderer.events import Finished, FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import is_answer
from renderer.gate import VisibleText
from renderer.summary import frame as summary_frame
from renderer.summary.frame import Blocked
from renderer.summary.reasons import Reason

log = logging.getLogger(__name__)

FIRST_SECONDS = 1.0
STEP_SECONDS = 3.0
"""Pause between two lines: a faster pace would reveal how much the model is thinking, and nobody reads faster."""
POLL_SECONDS = 0.25
ASK_SECONDS = 20.0
CLOSE_SECONDS = 0.5
MIN_CHARS = 160
MAX_FAILURES = 3
AT_ONCE = 2
"""How many summary requests a process makes at the same time, for all turns together: answers have priority."""

_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class Summarizing(TurnSummary):
    """Summarizes one turn."""

    def __init__(self, spec: BackendSpec, job: Job, show: Callable[[VisibleText], None]) -> None:
        self._spec = spec
        # A server that writes its own summaries is also used to review them, if a review is configured.
        self._asked = spec.summarizer or job.choice
        self._job = job
        self._show = show
        self._notes = summary_notes.Notes(is_trusted=spec.summaries == "server")
        self._steps: list[str] = []
        self._blocked: list[Blocked] = []
        self._inbox: deque[RawEvent] = deque()
        self._candidates: deque[str] = deque()
        self._server_summary: list[str] | None = None
        self._is_ready = False
        self._is_over = False
        self._is_finished = False
        self._task = asyncio.create_task(self._run())

    def take(self, event: RawEvent) -> RawEvent:
        """Also queues the event. Cheap: the queue is read later."""
        event = super().take(event)
        if self._is_over:
            return event
        self._inbox.append(event)
        if isinstance(event, FrameOpened) and is_answer(event.header):
            self._end()
        return event

    def finish(self) -> list[Finished]:
        """See TurnSummary."""
        self._end()
        if self._is_finished:
            return []
        self._is_finished = True
        return summary_frame.frames(self._steps, self._blocked, ProductCode.SUMMARY_BLOCKED)

    async def aclose(self) -> None:
        """See TurnSummary. Waits at most CLOSE_SECONDS, so a summarizer that ignores cancellation cannot delay the turn."""
        self._end()
        await asyncio.wait([self._task], timeout=CLOSE_SECONDS)

    def _end(self) -> None:
        """Stop, because the answer begins or the turn ends: summary text that arrives later is ignored."""
        if self._is_over:
            return
        try:
            if self._is_ready and self._spec.summaries == "server" and not self._spec.is_reviewed:
                self._read_inbox()
                while self._candidates:
                    self._show_if_allowed(self._candidates.popleft())
        except Exception as error:  # noqa: BLE001 - as in ``_run``
            _log_without_content(error)
        self._is_over = True
        self._task.cancel()

    async def _run(self) -> None:
        try:
            await asyncio.to_thread(self._notes.open, self._job.frames)
            self._is_ready = True
            await self._model() if self._spec.summaries == "model" else await self._server()
        except Exception as error:  # noqa: BLE001 - a failure here may lose the summary, never the answer
            _log_without_content(error)
        # Also after an error: text that was not indexed because of it could be copied into a line and pass the check.
        self._is_over = True

    async def _model(self) -> None:
        """Ask a model to summarize the new reasoning, one request at a time."""
        # The spec may be stored in the database, which only a thread may read.
        await pools.turns.run(connected.spec_of, self._asked)
        backend, model = connected.backend(self._asked), split_choice(self._asked)[1]
        pause, failures = FIRST_SECONDS, 0
        while len(self._steps) < server_summaries.MAX_STEPS and failures < MAX_FAILURES:
            await asyncio.sleep(pause)
            await self._enough_to_summarize()
            answer = await ask(backend, self._notes.request(model, self._steps), self._charge_to(backend))
            failures = 0 if answer else failures + 1
            if answer:
                await self._propose(answer)
            pause = STEP_SECONDS

    async def _enough_to_summarize(self) -> None:
        self._read_inbox()
        while self._notes.new_chars < MIN_CHARS:
            await asyncio.sleep(POLL_SECONDS)
            self._read_inbox()

    async def _server(self) -> None:
        """Show the lines of the server's own summary, at the product's own pace."""
        while len(self._steps) < server_summaries.MAX_STEPS:
            self._read_inbox()
            if not self._candidates:
                await asyncio.sleep(POLL_SECONDS)
            elif await self._propose(self._candidates.popleft()):
                await asyncio.sleep(STEP_SECONDS)

    async def _propose(self, candidate: str) -> bool:
        """Check a line, have it reviewed if that is configured, and show it. Returns whether it is shown."""
        verdict = self._notes.judge(candidate, self._steps)
        if verdict.reason is None and self._spec.is_reviewed:
            await pools.turns.run(connected.spec_of, self._asked)
            request = self._notes.review(verdict.line, split_choice(self._asked)[1])
            backend = connected.backend(self._asked)
            if not summary_notes.is_allowed(await ask(backend, request, self._charge_to(backend))):
                return self._block(verdict.line, Reason.REVIEW)
        return self._show_if_allowed(candidate)

    def _charge_to(self, backend: Backend) -> own_requests.Charged:
        def charged(spent: Spent, model: str) -> None:
            # Now rather than with the answer, or the usage would be lost if this process died. ``order``: before the end of the turn.
            charge = Charge(UsageKind.SUMMARY, spent, self._asked, backend.name, model)
            posting.post(self._job.asked, charge, order=self._job.turn_id)

        return charged

    def _show_if_allowed(self, candidate: str) -> bool:
        self._read_inbox()
        verdict = self._notes.judge(candidate, self._steps)
        if verdict.reason is not None:
            return self._block(verdict.line, verdict.reason)
        if verdict.line in self._steps or len(self._steps) >= server_summaries.MAX_STEPS:
            return False
        self._steps.append(verdict.line)
        self._show(summary_frame.shown(verdict.line))
        return True

    def _block(self, line: str, reason: Reason) -> bool:
        # An empty line from a summarizer is no violation.
        if reason is not Reason.EMPTY and len(self._blocked) < server_summaries.MAX_STEPS:
            self._blocked.append(Blocked(line, reason))
            measures.SUMMARY_LINES_DROPPED.labels(reason.name.lower()).inc()
        return False

    def _read_inbox(self) -> None:
        while self._inbox:
            event = self._inbox.popleft()
            self._notes.feed(event)
            match event:
                case FrameOpened(header=header):
                    self._server_summary = [] if header == summary_frame.ASIDE else None
                case FrameText(text=text) if self._server_summary is not None:
                    self._server_summary.append(text)
                case FrameClosed() if self._server_summary is not None:
                    self._take_server_summary("".join(self._server_summary))
                    self._server_summary = None

    def _take_server_summary(self, text: str) -> None:
        """Take a server's own summary. If it turns out to be reasoning, earlier lines that still wait are dropped too."""
        if self._spec.summaries != "server":
            return
        if steps := self._notes.server_steps(text):
            self._candidates.extend(steps)
        elif text.strip():
            measures.SUMMARY_LINES_DROPPED.labels("reasoning").inc()
            self._candidates.clear()


async def ask(backend: Backend, request: SampleRequest, charged: own_requests.Charged) -> str:
    """A model's answer; empty if the request fails or times out, or the answer is cut off or too long. At most AT_ONCE requests run at the
    same time."""
    async with _semaphore():
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await own_requests.text_of(backend, request, summary_notes.MAX_ANSWER_CHARS, charged, "summary")
        except (TimeoutError, BackendError) as error:
            log.info("a summarizer failed: %s", type(error).__name__)
            return ""


def _log_without_content(error: Exception) -> None:
    """Log only the kind of error: an exception's message may quote hidden text."""
    log.warning("a summary failed: %s", type(error).__name__)


def _semaphore() -> asyncio.Semaphore:
    return _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))
