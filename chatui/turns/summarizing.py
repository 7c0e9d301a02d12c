"""Summarizes a turn's hidden reasoning line by line while the turn runs, until the answer begins.

The reasoning summary that a model server sends is parsed into lines, and raw reasoning that is only labelled as a summary is detected.
Requests to a summarizer are built from the running turn, and its answers are checked, without I/O.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from chatui import prompts
from chatui.backends.base import Backend, BackendError, SampleRequest
from chatui.backends.spec import BackendSpec, split_choice
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.model_servers import connected
from chatui.models.usage import UsageKind
from chatui.observability import measures
from chatui.turns import sampling
from chatui.turns.ledger import Job
from chatui.turns.summaries import TurnSummary
from chatui.usage import settling
from chatui.usage.counting import Charge, Spent
from renderer.events import Finished, FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN, SUMMARY_NAME, is_answer, is_document
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, VisibleText, may_see
from renderer.summary import frame as summary_frame
from renderer.summary import new_words
from renderer.summary.check import MAX_CHARS, Verdict, check
from renderer.summary.frame import Blocked
from renderer.summary.index import HiddenText, SeenText
from renderer.summary.reasons import Reason

MAX_STEPS = 12

# White space within one line only: \s would take quadratic time on many empty lines.
_HEADING = re.compile(r"^[^\S\n]*\*\*(?P<title>[^*\n]{2,200})\*\*[^\S\n]*$|^#{1,4}\s+(?P<heading>\S[^\n]{1,200})$", re.MULTILINE)

# Reasoning says "I", mentions the user and the next steps, and expresses doubt. A summary says what was done.
_THINKING = re.compile(
    r"\b(?:I|I['\u2019]\w+|we|we['\u2019]\w+|us|let me|let['\u2019]?s|user|asker|okay|ok|hmm+|wait|actually|maybe|perhaps"
    r"|need(?:s|ed)? to"
    r"|should|must|wants?|asks?|so we|now we|policy|policies|disallowed|instructions?|developer|system (?:message|prompt))\b"
    r"|\b(?:ich|wir|nutzer(?:in)?|anwender(?:in)?|vielleicht|moment|m[u\u00fc]ss(?:te|en)?|muss|sollte[n]?|m[o\u00f6]chte|fragt)\b"
    r"|\b(?:utente|usu[a\u00e1]rio|gebruiker|anv[a\u00e4]ndaren|bruger(?:en)?|u\u017cytkownik\w*|kullan\u0131c\u0131\w*"
    r"|pengguna|tal\u00e1n|"
    r"nutze\w*|debe(?:r\u00eda|mos)?|necesit\w+|tengo|vamos|creo|dovrei|devo|penso|preciso|acho|moet|misschien|eigenlijk"
    r"|kanske|belki|bence)\b"
    r"|\b(?:\u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b\w*|\u044f|\u043c\u043d\u0435|\u043c\u044b"
    r"|\u043d\u0430\u0434\u043e|\u043d\u0443\u0436\u043d\u043e|\u0432\u043e\u0437\u043c\u043e\u0436\u043d\u043e"
    r"|\u043d\u0430\u0432\u0435\u0440\u043d\u043e\u0435|\u0445\u043e\u0447\u0435\u0442|\u0438\u0442\u0430\u043a|\u0442\u0430\u043a)\b"
    r"|\u0627\u0644\u0645\u0633\u062a\u062e\u062f\u0645|\u0623\u062d\u062a\u0627\u062c|\u064a\u062c\u0628"
    r"|\u0631\u0628\u0645\u0627|\u064a\u0631\u064a\u062f|\u062f\u0639\u0646\u064a|\u0633\u0623"
    r"|\u05d4\u05de\u05e9\u05ea\u05de\u05e9|\u0909\u092a\u092f\u094b\u0917\u0915\u0930\u094d\u0924\u093e"
    r"|\u5148\u770b|\u53ef\u80fd|\u662f\u4e0d\u662f|\u60f3\u8981|\u4e0d\u5bf9|\u6240\u4ee5|\ub124[,.]|\u306a\u306e\u3067"
    r"|\u305f\u3076\u3093|\u3048\u3063\u3068|\u3088\u3046\u3060"
    r"|[=\u2248\u21d2\u2192]|->|\?|\b(?:so|hence|thus|therefore|but|then|also|either|assume|suppose|alright|hang on|hold on"
    r"|not sure|sure)\b[,:]?"
    r"|\b(?:je|nous|l['\u2019]utilisateur|peut-[e\u00ea]tre|dois|devons|yo|usuario|quiz[a\u00e1]s?|debo|debemos|devo|forse|talvez)\b"
    r"|\u7528\u6237|\u7528\u6236|\u6211|\u9700\u8981|\u5e94\u8be5|\u61c9\u8a72|\u4e5f\u8bb8|\u597d\u7684|\u7b49\u7b49|\u55ef"
    r"|\uc0ac\uc6a9\uc790|\uc800\ub294|\ub098\ub294|\ub0b4\uac00|\uc6b0\ub9ac|\ud574\uc57c|\uc544\ub9c8|\uc74c[,.\u2026]"
    r"|\uc790,|\u30e6\u30fc\u30b6\u30fc|\u79c1",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?][\"'\u201d\u2019)]*\s+\S|[\u3002\uff01\uff1f]\s*\S")


@dataclass(frozen=True, slots=True)
class ServerSummary:
    """``steps``: the lines that may be shown if they pass the check. ``other_text``: the rest of the text, which must not be shown."""

    steps: list[str] = field(repr=False)
    other_text: str = field(repr=False)
    is_reasoning: bool


def read(text: str) -> ServerSummary:
    """Parse a server's own summary. Fails closed: text that is not clearly a summary counts as reasoning.

    A summary has headings, or consists of a few short lines of one sentence each, none of which thinks aloud.
    """
    headings = list(_HEADING.finditer(text))
    steps = steps_in(text)
    other_text = _HEADING.sub("\n", text) if headings else ""
    lines = steps if headings else [line for line in text.splitlines() if line.strip()]
    is_reasoning = len(headings or lines) > MAX_STEPS or any(map(_is_thought, lines))
    return ServerSummary(steps, other_text, is_reasoning)


def steps_in(text: str) -> list[str]:
    """The lines of a server's own summary: its headings, or without any, the first line of each paragraph."""
    headings = [(found["title"] or found["heading"]).strip() for found in _HEADING.finditer(text)]
    if headings:
        return headings[:MAX_STEPS]
    return [part.strip().splitlines()[0] for part in text.split("\n\n") if part.strip()][:MAX_STEPS]


def _is_thought(line: str) -> bool:
    return len(line) > MAX_CHARS or _SENTENCE.search(line) is not None or _THINKING.search(line) is not None


MAX_NOTES_CHARS = 4_000
MAX_QUESTION_CHARS = 1_000
MAX_INSTRUCTIONS_CHARS = 8_000
MAX_TOKENS = 400
MAX_ANSWER_CHARS = 2_000


class Notes:
    """The notes on a running turn. ``open`` takes the branch, ``feed`` each new event; both index the text for the check.

    ``is_trusted``: the operator says that this server's summaries can be trusted.
    """

    def __init__(self, *, is_trusted: bool = False) -> None:
        self._is_trusted = is_trusted
        self.hidden = HiddenText()
        self.seen = SeenText()
        self._instructions: list[str] = []
        self._question = ""
        self._header: Header | None = None
        self._visible: list[str] = []
        self._new: list[str] = []
        self.new_chars = 0

    def open(self, frames: Iterable[Frame]) -> None:
        """Index the branch as the model sees it. Takes time in proportion to its length: about a second for a few million characters."""
        for frame in frames:
            if may_see(frame.header, Audience.END_USER):
                self.seen.feed(frame.body)
                self._question = frame.body if frame.header.role == Role.USER else self._question
            elif is_document(frame.header):
                self.seen.feed(frame.body)  # the person who uploaded it knows it
            elif frame.header.role in (Role.SYSTEM, Role.DEVELOPER):
                self._instructions.append(frame.body)
                self.hidden.feed_instructions(frame.body)
            else:
                self.hidden.feed(frame.body)
                self.hidden.settle(is_end=True)
        new_words.prepare(self.seen)

    def feed(self, event: RawEvent) -> None:
        """Index an event of the running turn."""
        match event:
            case FrameOpened(header=header):
                self._header = header
            case FrameText(text=text):
                self._feed_text(text)
            case FrameWithdrawn():
                hidden, self._visible, self._header = self._visible, [], BROKEN
                for text in hidden:
                    self.hidden.feed(text)
            case FrameClosed():
                if self._visible:
                    self.seen.feed("".join(self._visible))
                    self._visible = []
                self.hidden.settle(is_end=True)

    def _feed_text(self, text: str) -> None:
        if self._header is None or (self._header.name == SUMMARY_NAME and self._is_trusted):
            # ``server_steps`` gets the complete text.
            return
        if may_see(self._header, Audience.END_USER):
            self._visible.append(text)
            return
        self.hidden.feed(text)
        if is_reasoning(self._header):
            self._new.append(text)
            self.new_chars += len(text)

    def server_steps(self, text: str) -> list[str]:
        """The lines of a complete summary by the server itself; none if it reads like reasoning.

        The rest of its text is indexed as hidden before any line is judged. After a server has sent reasoning as a summary, it is not
        trusted for the rest of the turn: some servers send reasoning in pieces, and a short piece may look harmless.
        """
        found = read(text)
        self._is_trusted = self._is_trusted and not found.is_reasoning
        steps = found.steps if self._is_trusted else []
        self.hidden.feed(found.other_text if steps else text)
        self.hidden.settle(is_end=True)
        return steps

    def request(self, model: str | None, shown: Iterable[str]) -> SampleRequest:
        """The next request to a summarizer. It contains the reasoning since the last request, and never repeats any.

        A summarizer gets the question, the lines shown so far and reasoning, but neither the instructions nor tool calls or their results.
        """
        new = "".join(self._new)[-MAX_NOTES_CHARS:]
        self._new, self.new_chars = [], 0
        lines = "\n".join(f"- {step}" for step in shown) or "- none"
        text = f"## Question\n\n{self._question_start()}\n\n## Lines shown before\n\n{lines}\n\n## New notes\n\n{new}"
        return _request("summary", text, model)

    def review(self, line: str, model: str | None) -> SampleRequest:
        """The request that asks the reviewing model about a line that passed the check."""
        instructions = "\n\n".join(self._instructions)[-MAX_INSTRUCTIONS_CHARS:] or "none"
        text = f"## Question\n\n{self._question_start()}\n\n## Instructions\n\n{instructions}\n\n## Line\n\n{line}"
        return _request("summary_review", text, model)

    def judge(self, candidate: str, before: Sequence[str] = ()) -> Verdict:
        """Whether a line may be shown after the lines ``before`` it, as far as a comparison with the hidden text can tell."""
        return check(candidate, self.hidden, self.seen, before)

    def _question_start(self) -> str:
        return self._question[:MAX_QUESTION_CHARS]


def is_reasoning(header: Header) -> bool:
    """Whether a frame is reasoning, and not a tool call or a frame for staff only."""
    is_thought = header.role == Role.ASSISTANT and header.channel == Channel.ANALYSIS
    return is_thought and header.recipient is None and header.intent != Intent.DEBUG


def is_allowed(answer: str) -> bool:
    """Whether a review allows the line. Any answer other than the one word counts as a no."""
    return answer.strip().casefold().strip(".!\"'*` ") == "allow"


def _request(prompt: str, text: str, model: str | None) -> SampleRequest:
    frames = (Frame(Header(Role.DEVELOPER), prompts.read(prompt)), Frame(Header(Role.USER), text))
    return SampleRequest(frames, model=model, effort="low", max_tokens=MAX_TOKENS)


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
        self._notes = Notes(is_trusted=spec.summaries == "server")
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
        while len(self._steps) < MAX_STEPS and failures < MAX_FAILURES:
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
        while len(self._steps) < MAX_STEPS:
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
            if not is_allowed(await ask(backend, request, self._charge_to(backend))):
                return self._block(verdict.line, Reason.REVIEW)
        return self._show_if_allowed(candidate)

    def _charge_to(self, backend: Backend) -> sampling.Charged:
        def charged(spent: Spent, model: str) -> None:
            # Now rather than with the answer, or the usage would be lost if this process died. ``order``: before the end of the turn.
            charge = Charge(UsageKind.SUMMARY, spent, self._asked, backend.name, model)
            settling.post(self._job.asked, charge, order=self._job.turn_id)

        return charged

    def _show_if_allowed(self, candidate: str) -> bool:
        self._read_inbox()
        verdict = self._notes.judge(candidate, self._steps)
        if verdict.reason is not None:
            return self._block(verdict.line, verdict.reason)
        if verdict.line in self._steps or len(self._steps) >= MAX_STEPS:
            return False
        self._steps.append(verdict.line)
        self._show(summary_frame.shown(verdict.line))
        return True

    def _block(self, line: str, reason: Reason) -> bool:
        # An empty line from a summarizer is no violation.
        if reason is not Reason.EMPTY and len(self._blocked) < MAX_STEPS:
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


async def ask(backend: Backend, request: SampleRequest, charged: sampling.Charged) -> str:
    """A model's answer; empty if the request fails or times out, or the answer is cut off or too long. At most AT_ONCE requests run at the
    same time."""
    async with _semaphore():
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await sampling.text_of(backend, request, MAX_ANSWER_CHARS, charged, "summary")
        except (TimeoutError, BackendError) as error:
            log.info("a summarizer failed: %s", type(error).__name__)
            return ""


def _log_without_content(error: Exception) -> None:
    """Log only the kind of error: an exception's message may quote hidden text."""
    log.warning("a summary failed: %s", type(error).__name__)


def _semaphore() -> asyncio.Semaphore:
    return _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))
