"""Summarizes a turn's hidden reasoning in lines of the product's own words while the turn runs.

A source names only the kind of work: code that reads the reasoning as it streams, a model that answers with a number, or the headings of
the server's own summary. Which line appears, and when, is decided in ``renderer.activities.lines`` for all of them.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from chatui import prompts
from chatui.answer_formats import AnswerFormat
from chatui.backends.base import Backend, SampleRequest
from chatui.backends.spec import BackendSpec, split_choice
from chatui.database import pools
from chatui.model_servers import connected
from chatui.models.usage import UsageKind
from chatui.turns import sampling
from chatui.turns.running_turn import RunningTurn
from chatui.turns.stages import Stage
from chatui.usage import settling
from chatui.usage.counting import Charge, Spent
from renderer import strict_json
from renderer.activities.activity import Activity
from renderer.activities.kinds import KINDS
from renderer.activities.lines import ActivityLines, PersonInput
from renderer.activities.reading import kind_of_heading
from renderer.activities.requests import Request
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ASIDE, is_answer, is_reasoning
from renderer.frames import Frame, Header, Role, Terminator
from renderer.gate import Audience, may_see

log = logging.getLogger(__name__)


ASKED_SECONDS = 2.5
"""How long after the model server has taken a request people see what was asked for."""
NEUTRAL_SECONDS = 15.0
"""How long after that a line holds that says no more than that there is a question."""
FEED_CHARS = 1_000
"""Reasoning is read in pieces of this length, not token by token."""


class Summarizing(Stage):
    """Summarizes one turn, as a stage of its events, by reading its reasoning (built-in). A timer of the event loop calls it at each tick,
    so there is no task.

    While an answer is open, no line appears. If it turns out to be a preamble, or is withdrawn, the thinking goes on, and so do the lines.
    A failure here may lose lines, never the answer.
    """

    def __init__(self, written: PersonInput, elapsed: Callable[[], int], show: Callable[[Activity], None], *, reads: bool = True) -> None:
        """``elapsed``: milliseconds of the answer's clock. ``show`` is called with each line. ``reads``: as for ``ActivityLines``."""
        self._lines = ActivityLines(written, reads=reads)
        self._elapsed = elapsed
        self._show = show
        self._header: Header | None = None
        self._unread: list[str] = []
        self._unread_chars = 0
        self._timer: asyncio.TimerHandle | None = None
        self._asked_timer: asyncio.TimerHandle | None = None
        self._is_asked_shown = self._has_read = self._has_called = False
        self._is_paused = self._is_over = self._is_stored = False
        self._lines.judge(elapsed() / 1000)  # the ticks before the cut are over
        self._wait()

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        """See Stage. Reads the event."""
        self._has_read = True
        if not self._is_over:
            self._safely(self._read, event)
        return [event]

    def note_taken(self, is_taken: bool, show: Callable[[Request | None], None]) -> None:
        """The model server has taken a request, or its answer has ended or failed. ``show`` is called with what the person asked for, a
        while later, and with None when that no longer holds: nothing is shown while a request waits to be sent again."""
        if self._is_over or self._has_called:
            return
        if is_taken:
            self._has_read = False
            if self._asked_timer is None:
                loop = asyncio.get_running_loop()
                self._asked_timer = loop.call_later(ASKED_SECONDS, self._safely, self._show_request, show)
        elif not self._has_read and self._asked_timer is not None:
            self._asked_timer.cancel()
            self._asked_timer = None
            if self._is_asked_shown:
                self._is_asked_shown = False
                show(None)

    def _show_request(self, show: Callable[[Request | None], None]) -> None:
        request = self._lines.request
        self._is_asked_shown = True
        show(request)
        if request.is_neutral:
            self._asked_timer = asyncio.get_running_loop().call_later(NEUTRAL_SECONDS, self._safely, show, None)

    def lines(self) -> Sequence[Activity]:
        """End the summary, because an answer is recorded or the turn ends. Returns the lines to store before the answer, in order; none if
        called again."""
        self._end()
        lines = () if self._is_stored else tuple(self._lines.shown)
        self._is_stored = True
        return lines

    async def aclose(self) -> None:
        self._end()

    def _read(self, event: RawEvent) -> None:
        match event:
            case FrameOpened(header=header):
                self._header = header
                if is_answer(header):
                    self._pause()
            case FrameText(text=text) if self._header is not None:
                self._read_text(self._header, text)
            case FrameClosed(terminator=Terminator.CALL):
                # From now on people see what the tool does, or are asked about it.
                self._header, self._is_paused, self._has_called = None, False, True
                if self._asked_timer is not None and not self._is_asked_shown:
                    self._asked_timer.cancel()
            case FrameWithdrawn() | FrameClosed():
                # If this was an answer that is recorded, ``lines`` follows at once.
                self._header, self._is_paused = None, False

    def _read_text(self, header: Header, text: str) -> None:
        if is_reasoning(header):
            self._unread.append(text)
            self._unread_chars += len(text)
            if self._unread_chars >= FEED_CHARS:
                self._read_unread()

    def _read_unread(self) -> None:
        text, self._unread, self._unread_chars = "".join(self._unread), [], 0
        self._lines.feed(text)

    def _pause(self) -> None:
        """The answer begins, as far as anybody can tell now."""
        self._is_paused = True
        if self._asked_timer is not None and not self._is_asked_shown:
            self._asked_timer.cancel()
            self._asked_timer = None

    def _wait(self) -> None:
        tick = self._lines.next_tick
        self._timer = None if tick is None else self._at(tick, self._tick, tick)

    def _at(self, seconds: float, work: Callable[..., None], *arguments: object) -> asyncio.TimerHandle:
        wait = max(0.0, seconds - self._elapsed() / 1000)
        return asyncio.get_running_loop().call_later(wait, self._safely, work, *arguments)

    def _tick(self, tick: float) -> None:
        self._read_unread()
        if self._is_paused:
            self._lines.propose(None)
        else:
            self._ask_source()
        line = self._lines.judge(max(tick, self._elapsed() / 1000))
        if line is not None:
            self._shown(line)
        self._wait()

    def _ask_source(self) -> None:
        """Propose the kind of another source, if there is one."""

    def _shown(self, line: Activity) -> None:
        self._show(line)

    def _end(self) -> None:
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._asked_timer is not None:
            self._asked_timer.cancel()

    def _safely(self, work: Callable[..., None], *arguments: object) -> None:
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001 - a failure here may lose lines, never the answer
            _log_kind(error)
            self._end()


# White space within one line only: \s would take quadratic time on many empty lines.
_HEADING = re.compile(r"^[^\S\n]*\*\*(?P<title>[^*\n]{2,200})\*\*[^\S\n]*$|^#{1,4}[^\S\n]+(?P<heading>\S[^\n]{1,200})$", re.MULTILINE)
HEADING_CHARS = 200


def newest_heading(text: str) -> str:
    """The last heading of a server's own summary; empty if there is none."""
    headings = list(_HEADING.finditer(text))
    return (headings[-1]["title"] or headings[-1]["heading"]).strip() if headings else ""


class SummarizingServer(Summarizing):
    """Summarizes one turn by the headings of its server's own summary. Neither its text nor any reasoning is read.

    A heading counts as soon as its line has ended: servers send a whole summary as one frame, which ends only when the answer begins.
    """

    def __init__(self, written: PersonInput, elapsed: Callable[[], int], show: Callable[[Activity], None]) -> None:
        """As for Summarizing."""
        self._line = ""  # that has not ended
        self._has_more_lines = False
        super().__init__(written, elapsed, show, reads=False)

    def _read(self, event: RawEvent) -> None:
        if isinstance(event, FrameClosed) and self._header == ASIDE:
            # A summary of one short line is a heading, too.
            is_heading = not self._has_more_lines and len(self._line) <= HEADING_CHARS
            self._propose(newest_heading(self._line) or (self._line.strip() if is_heading else ""))
        if isinstance(event, FrameOpened):
            self._line, self._has_more_lines = "", False
        super()._read(event)

    def _read_text(self, header: Header, text: str) -> None:
        if header != ASIDE:
            return
        ended, newline, rest = text.rpartition("\n")
        if newline:
            self._propose(newest_heading(self._line + ended))
            self._line, self._has_more_lines = "", True
        self._line = (self._line + rest)[: 2 * HEADING_CHARS]

    def _propose(self, heading: str) -> None:
        if heading:
            # With those shown: a heading of the same work names no other kind.
            kinds = [*self._lines.possible(), *(line.doing for line in self._lines.shown)]
            self._lines.propose(kind_of_heading(heading, kinds))


ASK_AHEAD = 2.0
"""How many seconds before a tick a summarizer is asked. An answer that is not there at the tick is of no use any more."""
CLOSE_SECONDS = 0.5
MIN_CHARS = 160
MAX_FAILURES = 3
AT_ONCE = 2
"""How many summarizers a process asks at the same time, for all turns together: answers have priority."""
MAX_NOTES_CHARS = 4_000
MAX_QUESTION_CHARS = 1_000
MAX_TOKENS = 400
MAX_ANSWER_CHARS = 200

_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class SummarizingModel(Summarizing):
    """Summarizes one turn by a model, which is asked for the number of a kind just before each tick. If its answer is late, or cannot be
    read, the reasoning is read here for that tick."""

    def __init__(
        self, written: PersonInput, elapsed: Callable[[], int], show: Callable[[Activity], None], summarizer: str, running: RunningTurn
    ) -> None:
        """``summarizer``: the choice of the model. The others as for Summarizing."""
        self._asked = summarizer
        self._running = running
        self._question = (written.question or "".join(written.earlier[-1:]))[:MAX_QUESTION_CHARS]
        self._notes = ""
        self._asking: asyncio.Task[str | None] | None = None
        self._ask_timer: asyncio.TimerHandle | None = None
        self._failures = 0
        super().__init__(written, elapsed, show)

    async def aclose(self) -> None:
        """End the summary with the turn. Waits at most CLOSE_SECONDS, so a summarizer that ignores cancellation cannot delay the turn."""
        await super().aclose()
        if self._asking is not None:
            await asyncio.wait([self._asking], timeout=CLOSE_SECONDS)

    def _read_unread(self) -> None:
        self._notes = "".join([self._notes, *self._unread])[-MAX_NOTES_CHARS:]
        super()._read_unread()

    def _wait(self) -> None:
        super()._wait()
        tick = self._lines.next_tick
        if tick is not None and self._failures < MAX_FAILURES:
            self._ask_timer = self._at(tick - ASK_AHEAD, self._ask)

    def _ask(self) -> None:
        self._read_unread()
        possible = self._lines.possible()
        if possible and not self._is_paused and len(self._notes) >= MIN_CHARS:
            self._asking = asyncio.create_task(self._kind(possible))

    async def _kind(self, possible: Sequence[str]) -> str | None:
        """The kind that the model names; empty if none fits, None if it could not be asked or its answer cannot be read."""
        try:
            # The spec may be stored in the database, which only a thread may read.
            await pools.turns.run(connected.spec_of, self._asked)
            backend = connected.backend(self._asked)
            request = request_for(self._question, self._notes, possible, split_choice(self._asked)[1])
            async with _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)):
                answer = await sampling.text_of(backend, request, MAX_ANSWER_CHARS, self._charge_to(backend), "summary")
            return kind_in(answer, possible)
        except Exception as error:  # noqa: BLE001 - as for all failures here
            _log_kind(error)
            return None

    def _charge_to(self, backend: Backend) -> sampling.Charged:
        def charged(spent: Spent, model: str) -> None:
            # Now rather than with the answer, or the usage would be lost if this process died. ``order``: before the end of the turn.
            charge = Charge(UsageKind.SUMMARY, spent, self._asked, backend.name, model)
            settling.post(settling.attribution_of(self._running.turn), charge, order=self._running.turn.pk)

        return charged

    def _ask_source(self) -> None:
        if self._asking is None:
            return
        kind = self._asking.result() if self._asking.done() and not self._asking.cancelled() else None
        self._cancel()
        self._failures = self._failures + 1 if kind is None else 0
        if kind is not None:
            self._lines.propose(kind or None)

    def _shown(self, line: Activity) -> None:
        self._notes = ""
        super()._shown(line)

    def _pause(self) -> None:
        super()._pause()
        self._cancel()

    def _end(self) -> None:
        super()._end()
        if self._ask_timer is not None:
            self._ask_timer.cancel()
        if self._asking is not None:
            self._asking.cancel()

    def _cancel(self) -> None:
        """Forget the running request: the tick is here, or the answer begins."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None


def request_for(question: str, notes: str, possible: Sequence[str], model: str | None) -> SampleRequest:
    """The request to a summarizer. It gets the question and reasoning, but neither the instructions nor tool calls or their results."""
    kinds = "\n".join(f"{number}. {KINDS[name].sentence}" for number, name in enumerate(possible, start=1))
    text = f"## Question\n\n{question}\n\n## Notes\n\n{notes}\n\n## Kinds of work\n\n{kinds}"
    frames = (Frame(Header(Role.DEVELOPER), prompts.read("summary")), Frame(Header(Role.USER), text))
    number = {"type": "integer", "enum": list(range(len(possible) + 1))}
    schema = {"type": "object", "properties": {"kind": number}, "required": ["kind"], "additionalProperties": False}
    return SampleRequest(
        frames, model=model, effort="low", max_tokens=MAX_TOKENS, answer_format=AnswerFormat("kind_of_work", schema), must_fit=True
    )


def kind_in(answer: str, possible: Sequence[str]) -> str | None:
    """The kind that a summarizer's answer names; empty if it says that none fits, None if the answer cannot be read."""
    try:
        value = strict_json.loads(answer)
    except strict_json.JsonError:
        return None
    number = value.get("kind") if isinstance(value, dict) else None
    if type(number) is not int or not 0 <= number <= len(possible):
        return None
    return possible[number - 1] if number else ""


def written_of(running: RunningTurn, *, has_tools: bool) -> PersonInput:
    """What the person wrote, from which a line of the turn's summary may name something."""
    questions = running.own_questions
    asked = [frame.body for frame in running.request.frames if frame.header.role == Role.USER and may_see(frame.header, Audience.END_USER)]
    # A question that somebody else may have written lends no words to a line.
    is_own = bool(questions) and asked[-1:] == [questions[-1]]
    earlier = questions[:-1] if is_own else questions
    question, has_file = questions[-1] if is_own else "", bool(running.documents)
    return PersonInput(question, earlier, running.files, has_tools=has_tools, has_new_file=has_file, before=running.steps_before)


def summary_of(spec: BackendSpec, running: RunningTurn, elapsed: Callable[[], int], show: Callable[[Activity], None]) -> Summarizing | None:
    """The summary of a turn that this model server answers; None if there is none. ``elapsed``: milliseconds since the turn began. ``show``
    is called with each line."""
    if spec.summaries == "none":
        return None
    thought = 1000 * (running.thought_before or 0)

    def clock() -> int:
        """Of the whole answer, which the turn may continue: it has one clock and one fold."""
        return thought + elapsed()

    try:
        written = written_of(running, has_tools=bool(running.tools or spec.server_tools))
        match spec.summaries:
            case "server":
                return SummarizingServer(written, clock, show)
            case "model":
                return SummarizingModel(written, clock, show, spec.summarizer, running)
        return Summarizing(written, clock, show)
    except Exception as error:  # noqa: BLE001 - as for all failures here
        _log_kind(error)
        return None


def _log_kind(error: Exception) -> None:
    """Log only the kind of error: an exception's message may quote hidden text."""
    log.warning("a summary failed: %s", type(error).__name__)
