"""Lines that a model writes or reviews: when it is asked, what for, and what becomes of its replies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from chatui.backends.base import BackendError, SampleRequest
from chatui.codes import ProductCode
from chatui.model_servers import connected
from chatui.models.usage import UsageKind
from chatui.observability import measures
from chatui.turns import sampling, summarizing
from chatui.usage import settling
from chatui.usage.counting import Charge, Spent
from renderer.events import FrameOpened, FrameText
from renderer.frame_kinds import ANALYSIS, ANSWER
from renderer.frames import Frame, Header, Role
from tests.chatui.turns.streams.summary import FIRST, HIDDEN, MANY, SECOND, Summary, until, wait_a_little, written
from tests.chatui.turns.streams.summary import no_database as no_database
from tests.chatui.turns.streams.summary import pace as pace
from tests.support.cases import for_each


class Asked:
    """Stands in for ``ask``: each reply may also do something, such as letting the turn go on."""

    def __init__(self, *replies: str | Callable[[], str]) -> None:
        self.replies = list(replies)
        self.requests: list[tuple[Any, SampleRequest]] = []
        self.is_cancelled = False

    async def __call__(self, backend: Any, request: SampleRequest, charged: sampling.Charged) -> str:
        self.requests.append((backend, request))
        charged(Spent(len(self.requests)), "the server's name")
        if not self.replies:
            try:
                await asyncio.Event().wait()
            finally:
                self.is_cancelled = True
        reply = self.replies.pop(0)
        return reply if isinstance(reply, str) else reply()


@pytest.fixture
def posted(monkeypatch: pytest.MonkeyPatch, no_database: None) -> list[tuple[object, Charge, object]]:
    """The usage that is posted."""
    found: list[tuple[object, Charge, object]] = []
    monkeypatch.setattr(settling, "post", lambda asked, charge, *, order: found.append((asked, charge, order)))
    return found


MODEL: dict[str, Any] = {"summaries": "model", "summarizer": "small/small-model", "summary_review": False}
Posted = list[tuple[object, Charge, object]]


@pytest.mark.asyncio
@pytest.mark.parametrize(("reply", "is_shown"), [("allow", True), ("block", False), ("", False)])
async def test_a_servers_line_is_shown_if_the_review_allows_it(
    reply: str, is_shown: bool, posted: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(reply)
    monkeypatch.setattr(summarizing, "ask", asked)
    summary = Summary(Frame(Header(Role.SYSTEM), "Be brief."), summary_review=True)
    summary.take(*written(FIRST))
    await until(lambda: bool(asked.requests) and not asked.replies)
    await wait_a_little()
    await summary.summarizing.aclose()
    assert summary.shown == ([FIRST] if is_shown else [])
    blocked = "The model that reviews summaries did not allow it:\n\n" + FIRST
    assert [text for _, text, _ in summary.stored()] == ([f"- {FIRST}"] if is_shown else [blocked])
    [(backend, request)] = asked.requests
    assert (backend.name, request.model) == ("the back end of one/large-model", "large-model")
    assert FIRST in request.frames[-1].body and "Be brief." in request.frames[-1].body
    charge = Charge(UsageKind.SUMMARY, Spent(1), "one/large-model", backend.name, "the server's name")
    assert posted == [(summary.job.asked, charge, summary.job.turn_id)]


@pytest.mark.asyncio
async def test_after_its_review_a_line_is_checked_against_what_was_written_meanwhile(
    posted: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "Looked at the ants, bees, cats, dogs and cows"

    def go_on() -> str:
        summary.take(*written("Looked at the ants, bees, cats, dogs and cows", ANALYSIS))
        return "allow"

    asked = Asked(go_on, "allow")
    monkeypatch.setattr(summarizing, "ask", asked)
    summary = Summary(Frame(Header(Role.USER), "The cows and dogs, cats or bees, or ants?"), summary_review=True)
    summary.take(*written(line))
    await until(lambda: len(asked.replies) == 1)
    await wait_a_little()
    await summary.summarizing.aclose()
    assert summary.shown == [] and [text for _, text, _ in summary.stored()] == [f"It copies hidden text:\n\n{line}"]


@pytest.mark.asyncio
async def test_lines_that_wait_for_a_review_are_not_shown_as_the_answer_begins(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(summarizing, "ask", asked)
    summary = Summary(summary_review=True)
    summary.take(*written(f"{FIRST}\n\n{SECOND}"))
    await until(lambda: bool(asked.requests))
    summary.take(FrameOpened(ANSWER))
    await summary.summarizing.aclose()
    assert asked.is_cancelled, "the server is free for the answer"
    assert summary.shown == [] and summary.stored() == []


@pytest.mark.asyncio
async def test_a_summarizer_that_does_not_stop_does_not_delay_the_end_of_the_turn(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    released = asyncio.Event()

    async def goes_on(*_: object) -> str:
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await released.wait()
        return "allow"

    monkeypatch.setattr(summarizing, "ask", goes_on)
    monkeypatch.setattr(summarizing, "CLOSE_SECONDS", 0.01)
    summary = Summary(summary_review=True)
    task = summary.summarizing._task
    assert task is not None
    summary.take(*written(FIRST))
    for _ in range(3):
        await asyncio.sleep(0.005)
    async with asyncio.timeout(30):
        await summary.summarizing.aclose()
    assert not task.done(), "the premise"
    released.set()
    async with asyncio.timeout(30):
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_a_model_is_asked_as_soon_as_there_is_enough_to_summarize(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(FIRST)
    monkeypatch.setattr(summarizing, "ask", asked)
    summary = Summary(**MODEL)
    summary.take(FrameOpened(ANALYSIS), FrameText("x" * (summarizing.MIN_CHARS - 1)))
    for _ in range(5):
        await asyncio.sleep(0.002)
    assert not asked.requests
    summary.take(FrameText("y"))
    await until(lambda: bool(summary.shown))
    await summary.summarizing.aclose()
    [(backend, request)] = asked.requests
    assert (backend.name, request.model) == ("the back end of small/small-model", "small-model")
    assert request.frames[-1].body.endswith(f"\n\n{'x' * (summarizing.MIN_CHARS - 1)}y")
    charge = Charge(UsageKind.SUMMARY, Spent(1), "small/small-model", backend.name, "the server's name")
    assert summary.shown == [FIRST] and posted == [(summary.job.asked, charge, summary.job.turn_id)]


async def lines_by_model(monkeypatch: pytest.MonkeyPatch, count: int, *replies: str | Callable[[], str]) -> tuple[Summary, Asked]:
    """A summary after ``count`` requests to a model that writes these replies, without a pause."""
    asked = Asked(*replies)
    for name, value in {"ask": asked, "STEP_SECONDS": 0.0, "MIN_CHARS": 0}.items():
        monkeypatch.setattr(summarizing, name, value)
    summary = Summary(**MODEL)
    await until(lambda: len(asked.requests) >= count)
    await wait_a_little()
    await summary.summarizing.aclose()
    return summary, asked


@pytest.mark.asyncio
async def test_a_model_that_fails_three_times_in_a_row_is_not_asked_again(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    summary, asked = await lines_by_model(monkeypatch, 6, "", "", FIRST, "", "", "", SECOND)
    assert (summary.shown, asked.replies) == ([FIRST], [SECOND]) and summarizing.MAX_FAILURES == 3


@pytest.mark.asyncio
async def test_a_model_is_asked_for_a_dozen_lines_and_given_those_before(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    summary, asked = await lines_by_model(monkeypatch, summarizing.MAX_STEPS, *MANY)
    assert summary.shown == MANY[: summarizing.MAX_STEPS] and len(asked.requests) == summarizing.MAX_STEPS
    assert f"## Lines shown before\n\n- {MANY[0]}\n- {MANY[1]}\n\n" in asked.requests[2][1].frames[-1].body


@pytest.mark.asyncio
async def test_a_model_is_asked_again_only_after_a_pause(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(FIRST, SECOND)
    monkeypatch.setattr(summarizing, "ask", asked)
    monkeypatch.setattr(summarizing, "MIN_CHARS", 0)
    summary = Summary(**MODEL)
    await until(lambda: bool(summary.shown))
    await wait_a_little()
    await summary.summarizing.aclose()
    assert len(asked.requests) == 1


Waits = Callable[[], Awaitable[str]]


async def fails_with(error: Exception) -> str:
    raise error


@for_each(
    [
        (lambda: fails_with(BackendError(ProductCode.BACKEND, "")), ""),
        (lambda: fails_with(TimeoutError()), ""),
        (lambda: asyncio.sleep(0, FIRST), FIRST),
        (lambda: asyncio.sleep(60, FIRST), ""),
    ]
)
def test_a_request_that_fails_or_takes_too_long_gives_no_line(text_of: Waits, line: str) -> None:
    wanted: list[tuple[Any, ...]] = []

    def requested(*arguments: Any) -> Awaitable[str]:
        wanted.append(arguments)
        return text_of()

    request, charged = summarizing.Notes().request(None, []), lambda *_: None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "text_of", requested)
        patch.setattr(summarizing, "ASK_SECONDS", 0.01)
        backend: Any = "backend"
        assert asyncio.run(summarizing.ask(backend, request, charged)) == line
    assert wanted == [("backend", request, summarizing.MAX_ANSWER_CHARS, charged, "summary")]


def test_the_pace_of_lines_is_slow_and_answers_have_priority() -> None:
    limits = (summarizing.CLOSE_SECONDS, summarizing.MIN_CHARS, summarizing.MAX_FAILURES, summarizing.AT_ONCE)
    assert limits == (0.5, 160, 3, 2)


@pytest.mark.asyncio
async def test_a_refused_line_is_not_sent_to_the_review(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked("allow")
    monkeypatch.setattr(summarizing, "ask", asked)
    summary = Summary(Frame(ANALYSIS, HIDDEN), summary_review=True)
    summary.take(*written(f"Looked at the {HIDDEN}"), *written(FIRST))
    await until(lambda: bool(summary.shown))
    await summary.summarizing.aclose()
    assert [FIRST in request.frames[-1].body for _, request in asked.requests] == [True]


@pytest.mark.asyncio
async def test_a_summary_by_a_server_is_ignored_if_a_model_writes_them(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, dropped = Asked(SECOND), measures.SUMMARY_LINES_DROPPED.labels("reasoning")
    monkeypatch.setattr(summarizing, "ask", asked)
    before = dropped._value.get()
    summary = Summary(**MODEL)
    summary.take(*written(FIRST), *written("We need to weigh the rain."), *written("x" * summarizing.MIN_CHARS, ANALYSIS))
    await until(lambda: bool(summary.shown))
    summary.take(FrameOpened(ANSWER))
    await summary.summarizing.aclose()
    assert summary.shown == [SECOND] and dropped._value.get() == before


@pytest.mark.asyncio
async def test_the_back_end_of_a_summarizer_is_read_by_a_thread_before_it_is_asked(posted: Posted, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(connected, "spec_of", read.append)
    summary, _ = await lines_by_model(monkeypatch, 1, FIRST)
    assert summary.shown == [FIRST] and read == ["small/small-model"], "it may be stored in the database"
