"""The first line that people see: what was asked for, told from the question alone. It is stored nowhere and given to nobody else."""

import asyncio
from typing import Any

import pytest
from django.contrib.auth.models import Group

from chatui.backends.base import BackendError
from chatui.codes import ProductCode
from chatui.models.message import Message
from chatui.models.user import User
from chatui.turns import running, summarizing
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frames import Terminator
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.environment import change
from tests.support.scripted import ANALYSIS, ScriptedBackend, Step, answer
from tests.support.summarizer import install, quick

pytestmark = pytest.mark.django_db(transaction=True)

POEM, VERSES = "Write a poem about the sea.", "Working on the verses"
UNCLEAR, READING = "ok?", "Reading the question"


@pytest.fixture
def gate(backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """The model thinks of something else until this is set. The line comes at once."""
    install(monkeypatch, backend)
    quick(monkeypatch, [600.0])
    monkeypatch.setattr(summarizing, "ASKED_SECONDS", 0.0)
    event = asyncio.Event()
    backend.script = [FrameOpened(ANALYSIS), FrameText("I must refuse. It is not allowed."), FrameClosed(Terminator.END), event, *answer()]
    return event


def lines(events: list[dict[str, Any]]) -> list[str | None]:
    asked = [event.get("line") for event in events if event["type"] == "chatui:asked"]
    return [line["sentences"]["en"] if line else None for line in asked]


async def test_it_is_shown_in_each_language_to_a_page_that_joins_late_too_and_stored_nowhere(ada: User, gate: asyncio.Event) -> None:
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as late:
        await socket.send_message(POEM)
        accepted = (await socket.until("chatui:accepted"))[-1]
        [asked] = [event for event in await socket.until("chatui:asked") if event["type"] == "chatui:asked"]
        assert asked["line"]["sentences"]["en"] == VERSES and asked["line"]["sentences"]["de"] == "Feilt an den Versen"
        await late.send("subscribe", conversation=accepted["conversation"])
        snapshot = (await late.until("chatui:snapshot"))[-1]
        assert (snapshot["asked"], snapshot["steps"]) == (asked["line"], [])
        gate.set()
        assert lines(await socket.until(*ENDS)) == []
    await running.settle()
    stored = [message async for message in Message.objects.all()]
    assert len(stored) > 2 and not any(VERSES in message.text or message.activities for message in stored)


@pytest.mark.parametrize("allowed", [False, True])
async def test_only_people_with_summaries_have_it(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    group = await Group.objects.acreate(name="readers")
    if allowed:
        await ada.groups.aadd(group)
    change(monkeypatch, {"summary_groups": ["readers"]})
    async with BrowserSocket(ada) as socket:
        await socket.send_message(POEM)
        events = await socket.until("chatui:working")
        if allowed and not lines(events):
            events += await socket.until("chatui:asked")
        gate.set()
        events += await socket.until(*ENDS)
    assert lines(events) == ([VERSES] if allowed else [])


async def test_nothing_is_shown_while_the_request_waits_to_be_sent_again(ada: User, backend: ScriptedBackend, gate: asyncio.Event) -> None:
    again: list[Step] = [gate, *answer()]
    failing = asyncio.Event()
    backend.script, backend.following = [failing, BackendError(ProductCode.BACKEND, "away", retryable=True, retry_after=0.01)], [again]
    async with BrowserSocket(ada) as socket:
        await socket.send_message(POEM)
        assert lines(await socket.until("chatui:asked")) == [VERSES]
        failing.set()
        assert lines(await socket.until("chatui:asked")) == [None]
        assert lines(await socket.until("chatui:asked")) == [VERSES], "the second attempt was taken"
        gate.set()
        await socket.until(*ENDS)


async def test_a_line_that_says_only_that_there_is_a_question_holds_a_while(
    ada: User, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarizing, "NEUTRAL_SECONDS", 0.01)
    async with BrowserSocket(ada) as socket:
        await socket.send_message(UNCLEAR)
        shown = lines(await socket.until("chatui:asked"))
        assert (shown or lines(await socket.until("chatui:asked")))[0] == READING
        while shown[-1] is not None:
            shown += lines(await socket.until("chatui:asked"))
        gate.set()
        await socket.until(*ENDS)
    assert shown == [READING, None]
