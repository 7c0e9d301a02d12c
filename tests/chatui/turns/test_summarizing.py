"""What names the kinds of work of one turn, when their lines appear, and what no source can do. The clock is the test's."""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from chatui.backends.base import BackendError, EndReason, SampleEnded
from chatui.backends.spec import BackendSpec
from chatui.codes import ProductCode
from chatui.model_servers import connected
from chatui.turns import summarizing
from chatui.turns.summarizing import MAX_FAILURES, newest_heading, summary_of, written_of
from chatui.usage import settling
from chatui.usage.counting import Attribution
from renderer.activities.activity import Activity
from renderer.activities.kinds import KINDS
from renderer.activities.lines import MOST_LINES, TICKS, ActivityLines, PersonInput
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, ASIDE, BROKEN, NOTES, PREAMBLE, PRODUCT_NAMES, SUMMARY, SUMMARY_NAME
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.gate import Audience, may_see
from tests.support.cost import costs_at_most
from tests.support.recorded_frames import unstored
from tests.support.sampling import way_back
from tests.support.scripted import CALL, REPLY
from tests.support.summarizer import QUESTION, THOUGHT, Says, Summarizer

COMPARING = Activity("compare", ("trains", "bicycles"))
SECRET = "-".join(["hidden", "words"])


class Clock:
    """Stands in for the event loop's timers and for the time of the turn."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[tuple[float, Any]] = []

    def call_later(self, wait: float, work: Callable[..., None], *arguments: object) -> Any:
        timer = (self.now + wait, (work, arguments))
        self._timers.append(timer)
        return SimpleNamespace(cancel=partial(self._cancel, timer))

    def _cancel(self, timer: tuple[float, Any]) -> None:
        if timer in self._timers:
            self._timers.remove(timer)

    async def go_to(self, seconds: float) -> None:
        while due := sorted((timer for timer in self._timers if timer[0] <= seconds), key=lambda timer: timer[0]):
            self._timers.remove(due[0])
            self.now = max(self.now, due[0][0])
            work, arguments = due[0][1]
            work(*arguments)
            for _ in range(20):  # a request that is answered at once is answered before the next timer
                await asyncio.sleep(0)
        self.now = seconds

    @property
    def is_quiet(self) -> bool:
        return not self._timers


class Turn:
    """A turn whose summary a test follows."""

    def __init__(self, clock: Clock, summaries: str, question: str = QUESTION, *frames: Frame, before: Sequence[Activity] = ()) -> None:
        self.clock = clock
        self.shown: list[Activity] = []
        branch = (Frame(Header(Role.DEVELOPER), f"Orders: {SECRET}"), *frames, Frame(Header(Role.USER), question))
        self.job = unstored("big", frames=branch)
        self.job = replace(self.job, steps_before=tuple(before), thought_before=4) if before else self.job
        spec = BackendSpec.model_validate(
            {"name": "big", "kind": "chat", "url": "http://127.0.0.1:9", "summaries": summaries}
            | ({"summarizer": "small/small-model"} if summaries == "model" else {})
        )
        self.summary: Any = summary_of(spec, self.job, lambda: int(clock.now * 1000), self.shown.append)

    def open(self, header: Header = ANALYSIS, text: str = THOUGHT) -> None:
        way_back(self.summary.feed).feed(FrameOpened(header))
        for at in range(0, len(text), 20):
            self.summary.feed(FrameText(text[at : at + 20]))

    def write(self, header: Header = ANALYSIS, text: str = THOUGHT, *, after_all: Header | None = None) -> None:
        self.open(header, text)
        self.summary.feed(FrameClosed(Terminator.END, header=after_all))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    names = ("create_task", "wait", "Semaphore", "Task")
    stand_in = SimpleNamespace(get_running_loop=lambda: found, **{name: getattr(asyncio, name) for name in names})
    monkeypatch.setattr(summarizing, "asyncio", stand_in)
    return found


class Charges(list[Any]):
    """What was charged."""

    def post(self, asked: Attribution, charge: Any, *, order: object) -> None:
        self.append(charge)


@pytest.fixture
def charges(monkeypatch: pytest.MonkeyPatch) -> Charges:
    found = Charges()
    monkeypatch.setattr(settling, "post", found.post)
    return found


def model_turn(clock: Clock, patch: pytest.MonkeyPatch, *says: Says) -> tuple[Turn, Summarizer]:
    """A turn that is summarized by a model, which says this."""

    async def in_this_thread(function: Callable[..., object], *arguments: object) -> object:
        return function(*arguments)

    summarizer = Summarizer(*says)
    patch.setattr(summarizing, "pools", SimpleNamespace(turns=SimpleNamespace(run=in_this_thread)))
    patch.setattr(connected, "spec_of", lambda choice: choice)
    patch.setattr(connected, "backend", lambda choice: summarizer)
    return Turn(clock, "model"), summarizer


# Built-in


async def test_a_line_appears_at_the_first_tick_and_not_before(clock: Clock) -> None:
    turn = Turn(clock, "built-in")
    turn.write()
    await clock.go_to(TICKS[0] - 0.01)
    assert turn.shown == []
    await clock.go_to(TICKS[0])
    assert turn.shown == [COMPARING]
    turn.write()
    await clock.go_to(60)
    assert turn.shown == [COMPARING], "no kind appears twice"
    assert list(turn.summary.lines()) == [COMPARING] and not turn.summary.lines(), "once"


async def test_a_continued_answer_goes_on_with_its_clock_and_its_lines(clock: Clock) -> None:
    """Otherwise each piece of an answer could tell as much as a whole one, and the fold would list a line twice."""
    again, other = Turn(clock, "built-in", before=[COMPARING]), Turn(clock, "built-in", before=[Activity("steps")])
    again.write()
    other.write()
    await clock.go_to(1.99)
    assert other.shown == []
    await clock.go_to(2)
    assert other.shown == [COMPARING], "4 s were thought before the cut: this is the tick at 6 s"
    await clock.go_to(60)
    assert again.shown == [] and list(other.summary.lines()) == [COMPARING], "its own lines alone are stored with it"
    assert ActivityLines(PersonInput(QUESTION, before=[COMPARING] * MOST_LINES)).next_tick is None


HIDDEN_FRAMES = {"a call": CALL, "a reply": REPLY, "a broken frame": BROKEN, "a server's summary": ASIDE, "a preamble": PREAMBLE}


@pytest.mark.parametrize("name", list(HIDDEN_FRAMES))
async def test_nothing_but_reasoning_is_read(name: str, clock: Clock) -> None:
    turn = Turn(clock, "built-in")
    turn.write(HIDDEN_FRAMES[name])
    await clock.go_to(60)
    assert turn.shown == []


ENDS: dict[str, tuple[RawEvent, ...]] = {
    "it is a preamble after all": (FrameClosed(Terminator.END, header=PREAMBLE),),
    "it is withdrawn": (FrameWithdrawn(), FrameClosed(Terminator.END)),
    "it is empty and not recorded": (FrameClosed(Terminator.RETURN),),
}


@pytest.mark.parametrize("name", list(ENDS))
async def test_an_answer_pauses_the_lines_and_they_go_on_if_it_is_none(name: str, clock: Clock) -> None:
    turn = Turn(clock, "built-in")
    turn.write()
    turn.open(ANSWER, "I will check the clock first.")
    await clock.go_to(TICKS[1])
    assert turn.shown == [], "the person reads"
    for event in ENDS[name]:
        turn.summary.feed(event)
    await clock.go_to(TICKS[2])
    assert turn.shown == [COMPARING]


async def test_after_a_recorded_answer_no_line_appears_and_no_timer_is_left(clock: Clock) -> None:
    turn = Turn(clock, "built-in")
    turn.write()
    turn.write(ANSWER, "Take the bicycle.")
    assert not turn.summary.lines()
    turn.write()
    await clock.go_to(60)
    assert turn.shown == [] and clock.is_quiet


async def test_a_failure_loses_the_lines_and_tells_its_kind_alone(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    turn = Turn(clock, "built-in")
    turn.write()
    await clock.go_to(TICKS[0])
    monkeypatch.setattr(ActivityLines, "feed", broken)
    with caplog.at_level(logging.WARNING):
        turn.write()
        await clock.go_to(60)
    assert list(turn.summary.lines()) == [COMPARING], "what was shown is stored"
    assert "RuntimeError" in caplog.text and SECRET not in caplog.text
    monkeypatch.setattr(ActivityLines, "__init__", broken)
    assert Turn(clock, "built-in").summary is None


# What a line may name


async def test_a_line_names_only_what_the_person_wrote_in_this_question() -> None:
    job = unstored()
    first, second = Frame(Header(Role.USER), "tea or coffee?"), Frame(Header(Role.USER), QUESTION)
    files, strange = ("notes.txt",), Frame(Header(Role.DEVELOPER), "Say no.")
    job = unstored(frames=(strange, first, Frame(ANSWER, "Tea."), second), files=files)
    assert written_of(job, has_tools=True) == PersonInput(QUESTION, ("tea or coffee?",), files, has_tools=True)
    job = replace(job, imported=frozenset({QUESTION}))
    assert written_of(job, has_tools=False) == PersonInput("", ("tea or coffee?",), files), "a stranger may have written it"


# The headings of a server


SERVER: dict[str, tuple[list[tuple[Header, str]], list[str]]] = {
    "a heading": ([(SUMMARY, "**Comparing ways to travel**\n\nLong words about it.")], ["compare"]),
    "the newest counts": ([(SUMMARY, "**Comparing ways**\n\nText.\n\n**Calculating the sum of times**\n\nMore.")], ["calc"]),
    "a heading of Markdown": ([(SUMMARY, "## Comparing ways\nText.")], ["compare"]),
    "one short line": ([(SUMMARY, "Comparing two ways")], ["compare"]),
    "a heading that fits no kind": ([(SUMMARY, "**Comparing ways**"), (SUMMARY, "**Zeppelins and gondolas**")], []),
    "a heading about rules": ([(SUMMARY, "**Comparing what the policy allows**")], []),
    "text without a heading": ([(SUMMARY, THOUGHT + "\n" + THOUGHT)], []),
    "raw reasoning": ([(ANALYSIS, THOUGHT)], []),
    "another kind of frame": ([(Header(Role.TOOL, Channel.COMMENTARY, name=SUMMARY_NAME), "**Comparing ways**")], []),
}


@pytest.mark.parametrize("name", list(SERVER))
async def test_a_servers_newest_heading_names_a_kind(name: str, clock: Clock) -> None:
    frames, kinds = SERVER[name]
    turn = Turn(clock, "server", "How long, 3 + 4 or 5 hours?")
    for header, text in frames:
        turn.write(header, text)
    await clock.go_to(TICKS[0])
    assert [line.doing for line in turn.shown] == kinds


async def test_a_heading_counts_while_the_server_still_writes_its_summary(clock: Clock) -> None:
    turn = Turn(clock, "server")
    turn.open(SUMMARY, "**Comparing ways to travel**\n\nCounting the hours of each")
    await clock.go_to(TICKS[0])
    assert [line.doing for line in turn.shown] == ["compare"]
    turn.summary.feed(FrameText("\nCounting hours\n\n**Counting the hours"))
    await clock.go_to(TICKS[1])
    assert [line.doing for line in turn.shown] == ["compare"], "neither text nor half a heading"
    turn.summary.feed(FrameText("**\n"))
    await clock.go_to(TICKS[2])
    assert [line.doing for line in turn.shown] == ["compare", "count"]


async def test_a_heading_of_work_that_was_shown_names_no_other_kind(clock: Clock) -> None:
    turn = Turn(clock, "server")
    headings = "Comparing options", "Comparing travel options", "Counting the hours"
    for tick, heading in zip(TICKS, headings, strict=False):
        turn.write(SUMMARY, f"**{heading}**")
        await clock.go_to(tick)
    assert [line.doing for line in turn.shown] == ["compare", "count"]


async def test_headings_are_found_in_linear_time() -> None:
    assert newest_heading("**one**\n\ntext\n\n# two") == "two"
    for text in ("\n" * 100_000, "**a" * 30_000, "# \n" * 30_000):
        assert costs_at_most(1000, partial(newest_heading, text))


# A model


async def test_a_model_names_the_line_at_the_tick(clock: Clock, charges: Charges, monkeypatch: pytest.MonkeyPatch) -> None:
    turn, summarizer = model_turn(clock, monkeypatch, "Weighing the options", "Counting")
    turn.write(CALL, "CALL " + SECRET)
    turn.write(ANALYSIS, "the first part " * 20)
    await clock.go_to(TICKS[0])
    turn.write(ANALYSIS, "the second part " * 20)
    await clock.go_to(TICKS[1])
    assert turn.shown == [Activity("weigh"), Activity("count")]
    first, second = summarizer.requests[:2]
    assert "first part" in first.frames[-1].body and QUESTION in first.frames[-1].body
    assert "second part" in second.frames[-1].body and "first part" not in second.frames[-1].body, "since the last line"
    assert "Weighing the options" in first.frames[-1].body and "Weighing the options" not in second.frames[-1].body
    assert all(SECRET not in one.body for request in summarizer.requests for one in request.frames)
    assert (first.model, first.effort, first.max_tokens, first.must_fit) == ("small-model", "low", 400, True)
    assert first.answer_format is not None and first.answer_format.fault('{"kind": 1}') is None
    assert first.answer_format.fault('{"kind": 99}') and first.answer_format.fault('{"kind": "x"}')
    assert [(charge.kind, charge.choice, charge.backend) for charge in charges] == [("summary", "small/small-model", "Summarizer")] * 2


OTHER_REPLIES: dict[str, Says] = {
    "it hangs": 60.0,
    "it fails": BackendError(ProductCode.BACKEND, SECRET),
    "it breaks": RuntimeError(SECRET),
    "it writes a line of its own": "Comparing the secret plans",
    "it has another number": '{"kind": 4711}',
    "a negative number": '{"kind": -1}',
    "no whole number": '{"kind": 1.0}',
    "true": '{"kind": true}',
    "a list": "[1]",
    "a text": '{"kind": "Counting"}',
    "deep": "[" * 150,
    "empty": "",
    "garbage": [FrameText("text without a frame")],
    "flood": [FrameOpened(ANALYSIS), *[FrameText("flood " * 1000)] * 10, FrameClosed(Terminator.END)],
    "cut": [FrameOpened(ANSWER), FrameText('{"kind": 1}'), FrameClosed(None, ProductCode.LENGTH), SampleEnded(EndReason.LENGTH)],
    "hidden": [FrameOpened(ANALYSIS), FrameText('{"kind": 1}'), FrameClosed(Terminator.END), SampleEnded(EndReason.STOP)],
    "withdrawn": [FrameOpened(ANSWER), FrameText('{"kind": 1}'), FrameWithdrawn(), SampleEnded(EndReason.STOP)],
}


@pytest.mark.parametrize("name", list(OTHER_REPLIES))
async def test_if_a_model_cannot_be_used_the_reasoning_is_read_for_that_tick(
    name: str, clock: Clock, charges: Charges, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    turn, summarizer = model_turn(clock, monkeypatch, OTHER_REPLIES[name])
    turn.write()
    await clock.go_to(TICKS[0])
    assert turn.shown == [COMPARING] and len(summarizer.requests) == 1
    for _ in range(8):
        turn.write()
        await clock.go_to(clock.now + 9)
    assert len(summarizer.requests) == MAX_FAILURES and SECRET not in caplog.text
    await turn.summary.aclose()
    await asyncio.sleep(0)
    assert summarizer.running == 0


async def test_a_model_that_finds_no_kind_is_believed(clock: Clock, charges: Charges, monkeypatch: pytest.MonkeyPatch) -> None:
    turn, _ = model_turn(clock, monkeypatch, '{"kind": 0}')
    turn.write()
    await clock.go_to(60)
    assert turn.shown == []


async def test_the_request_is_cancelled_as_the_answer_begins(clock: Clock, charges: Charges, monkeypatch: pytest.MonkeyPatch) -> None:
    turn, summarizer = model_turn(clock, monkeypatch, 60.0)
    turn.write()
    await clock.go_to(TICKS[0] - 0.5)
    assert summarizer.running == 1, "the premise"
    turn.open(ANSWER, "Take")
    await asyncio.sleep(0)
    assert (summarizer.running, summarizer.broken_off) == (0, 1) and len(charges) == 1
    await clock.go_to(60)
    assert len(summarizer.requests) == 1, "and none is asked while the answer is written"


@pytest.mark.parametrize("number", [1, 2, 7])
async def test_no_summarizer_can_show_more_than_the_caps(
    number: int, clock: Clock, charges: Charges, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn, summarizer = model_turn(clock, monkeypatch, f'{{"kind": {number}}}')
    for tick in TICKS:
        for _ in range(4):
            turn.write(ANALYSIS, "trains and bicycles and rain " * 20)
        await clock.go_to(tick)
    await clock.go_to(600)
    kinds = [line.doing for line in turn.shown]
    assert len(kinds) == len(set(kinds)) == MOST_LINES == 8, "it was believed each time, and no kind came twice"
    assert sum(bool(line.about) and KINDS[line.doing].about in ("span", "file") for line in turn.shown) <= 2
    assert all(span in QUESTION for line in turn.shown for span in line.about)
    assert len(summarizer.requests) == len(TICKS)


async def test_a_number_names_a_kind_of_the_list_that_was_sent_and_one_after_its_last_none(
    clock: Clock, charges: Charges, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn, summarizer = model_turn(clock, monkeypatch, '{"kind": 0}')
    turn.write()
    await clock.go_to(TICKS[0])
    await turn.summary.aclose()
    sent = re.findall(r"^\d+\. (.+)$", summarizer.requests[0].frames[-1].body.partition("## Kinds of work")[2], re.MULTILINE)
    read = KINDS[COMPARING.doing].sentence
    assert len(sent) > 2 and read not in (sent[0], sent[-1]), "the premise: each of these says something else"
    for number, shown in ((1, sent[0]), (len(sent), sent[-1]), (len(sent) + 1, read)):
        clock.now = 0.0
        turn, _ = model_turn(clock, monkeypatch, f'{{"kind": {number}}}')
        turn.write()
        await clock.go_to(TICKS[0])
        await turn.summary.aclose()
        assert [KINDS[line.doing].sentence for line in turn.shown] == [shown], number


# Whether a turn is summarized


@pytest.mark.parametrize(("summaries", "is_summarized"), [("none", False), ("built-in", True), ("server", True), ("model", True)])
async def test_a_turn_is_summarized_if_its_back_end_has_summaries(summaries: str, is_summarized: bool, clock: Clock) -> None:
    assert (Turn(clock, summaries).summary is not None) is is_summarized


def taken(*events: RawEvent) -> list[RawEvent]:
    """What a turn takes of these events of a model."""
    found: list[RawEvent] = []
    for event in events:
        way_back(found.append).feed(event)
    return found


async def test_a_model_cannot_forge_a_summary() -> None:
    assert may_see(SUMMARY, Audience.END_USER), "the premise: people see the frame that the product writes"
    [opened] = taken(FrameOpened(SUMMARY))
    assert isinstance(opened, FrameOpened) and opened.header.name == SUMMARY_NAME
    assert not may_see(opened.header, Audience.END_USER)
    for name in PRODUCT_NAMES - {SUMMARY_NAME}:
        [opened] = taken(FrameOpened(Header(Role.ASSISTANT, Channel.ANALYSIS, name=name)))
        assert opened == FrameOpened(Header(Role.ASSISTANT, Channel.ANALYSIS))
    tool = FrameOpened(replace(SUMMARY, role=Role.TOOL))
    others: tuple[RawEvent, ...] = (tool, FrameOpened(ANALYSIS), FrameText("x"), FrameClosed(None))
    assert taken(*others) == list(others), "only names of frames by the model are changed"


def test_only_a_visible_question_that_nobody_else_wrote_lends_its_words():
    asked = Frame(Header(Role.USER), "Compare trains and buses.")
    job = unstored(frames=(asked,))
    hidden = Frame(replace(NOTES, name="notes"), "Compare two secrets.")
    assert written_of(job, has_tools=False).question == asked.body
    assert written_of(replace(job, imported=frozenset((asked.body,))), has_tools=False).question == ""
    for frames in ((hidden,), (asked, hidden), ()):
        assert written_of(unstored(frames=frames), has_tools=False).question == "", "and no turn fails"
