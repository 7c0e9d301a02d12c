"""The first line that people see: what was asked for, told from the question alone. It is stored nowhere and given to nobody else."""

import asyncio
from typing import Any

import pytest
from django.contrib.auth.models import Group

from chatui.codes import ProductCode
from chatui.models.message import Message
from chatui.models.user import User
from tests.support import constants
from tests.support.browser_socket import ENDS
from tests.support.environment import change
from tests.support.page import Page, settled
from tests.support.scripted import ANALYSIS, ScriptedBackend, answer, closed, failure, open_frame
from tests.support.summarizer import install, quick

pytestmark = pytest.mark.django_db(transaction=True)

POEM, VERSES = "Write a poem about the sea.", "Working on the verses"
UNCLEAR, READING = "ok?", "Reading the question"


@pytest.fixture
def gate(backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """The model thinks of something else until this is set. The line comes at once."""
    install(monkeypatch, backend)
    quick(monkeypatch, [600.0])
    constants.change(monkeypatch, asked_line_seconds=0.0)
    event = asyncio.Event()
    backend.script = [*open_frame(ANALYSIS, "I must refuse. It is not allowed."), closed(), event, *answer()]
    return event


def lines(events: list[dict[str, Any]]) -> list[str | None]:
    asked = [event.get("line") for event in events if event["type"] == "chatui:asked"]
    return [line["sentences"]["en"] if line else None for line in asked]


async def test_it_is_shown_in_each_language_to_a_page_that_joins_late_too_and_stored_nowhere(ada: User, gate: asyncio.Event) -> None:
    async with Page(ada) as page, Page(ada) as late:
        turn = await page.ask(POEM)
        [asked] = [event for event in await page.until("chatui:asked") if event["type"] == "chatui:asked"]
        assert asked["line"]["sentences"]["en"] == VERSES and asked["line"]["sentences"]["de"] == "Feilt an den Versen"
        await late.follow(turn.conversation_id)
        snapshot = (await late.until("chatui:snapshot"))[-1]
        assert (snapshot["asked"], snapshot["steps"]) == (asked["line"], [])
        gate.set()
        assert lines(await page.until(*ENDS)) == []
    await settled()
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
    async with Page(ada) as page:
        await page.send_message(POEM)
        events = await page.until("chatui:working")
        if allowed and not lines(events):
            events += await page.until("chatui:asked")
        gate.set()
        events += await page.until(*ENDS)
    assert lines(events) == ([VERSES] if allowed else [])


async def test_nothing_is_shown_while_the_request_waits_to_be_sent_again(ada: User, backend: ScriptedBackend, gate: asyncio.Event) -> None:
    failing = asyncio.Event()
    backend.script = [failing, failure(ProductCode.BACKEND, "away", retryable=True, retry_after=0.01)]
    backend.following = [[gate, *answer()]]
    async with Page(ada) as page:
        await page.send_message(POEM)
        assert lines(await page.until("chatui:asked")) == [VERSES]
        failing.set()
        assert lines(await page.until("chatui:asked")) == [None]
        assert lines(await page.until("chatui:asked")) == [VERSES], "the second attempt was taken"
        gate.set()
        await page.until(*ENDS)


async def test_a_line_that_says_only_that_there_is_a_question_holds_a_while(
    ada: User, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, neutral_line_seconds=0.01)
    async with Page(ada) as page:
        await page.send_message(UNCLEAR)
        shown = lines(await page.until("chatui:asked"))
        assert (shown or lines(await page.until("chatui:asked")))[0] == READING
        while shown[-1] is not None:
            shown += lines(await page.until("chatui:asked"))
        gate.set()
        await page.until(*ENDS)
    assert shown == [READING, None]
