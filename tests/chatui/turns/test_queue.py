"""Questions that wait for a slot, as their pages and their rows see it. ``test_slots`` has the order in which slots are given."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group

from chatui.models.turn import Turn
from chatui.models.user import User
from tests.support import constants
from tests.support.browser_socket import ENDS
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.environment import change
from tests.support.other_processes import as_another, leave, reap
from tests.support.page import Page, settled
from tests.support.scripted import ANALYSIS, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def gate(backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """What every answer waits for in the middle. There is one slot."""
    change(monkeypatch, {"max_answers_at_once": 1})
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "hm"), gate, *answer("Done.")]
    return gate


async def place_of(page: Page) -> int:
    """Ask, and return the place that a page which opens the conversation is told."""
    turn = await page.ask()
    await page.follow(turn.conversation_id)
    return int((await page.until("chatui:snapshot"))[-1]["place"])


async def is_queued(page: Page, *, until: bool | None = None) -> bool:
    """What its row says; with ``until``, once it says so."""
    async with asyncio.timeout(20):
        while True:
            found = (await Turn.objects.aget(pk=page.turn.pk)).is_queued
            if until in (None, found):
                return found
            await asyncio.sleep(0.01)


@asynccontextmanager
async def answering(person: User, backend: ScriptedBackend) -> AsyncIterator[Page]:
    """A page whose answer has the slot."""
    async with Page(person) as page:
        await page.ask()
        await asyncio.wait_for(backend.waiting.wait(), 20)
        yield page


async def test_a_waiting_question_is_stored_shows_its_place_and_can_be_stopped(
    ada: User, bela: User, backend: ScriptedBackend, gate: asyncio.Event
) -> None:
    async with answering(ada, backend) as first, Page(bela) as second, Page(bela) as third:
        assert [await place_of(second), await place_of(third)] == [1, 2]
        await second.tell("stop")
        assert (await second.until(*ENDS))[-1]["state"] == "stopped"
        assert (await third.until("chatui:queued"))[-1]["place"] == 1
        gate.set()
        assert (await first.until(*ENDS))[-1]["state"] == "completed"
        received = await third.until(*ENDS)
        assert [event["place"] for event in received if event["type"] == "chatui:queued"] == [0]
        assert received[-1]["state"] == "completed"
    assert not await Turn.objects.filter(state="running").aexists()


async def test_a_member_of_a_full_group_reads_the_place_and_others_are_answered(
    ada: User, bela: User, backend: ScriptedBackend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"max_answers_at_once": 10, "group_answers_at_once": {"students": 1}})
    await ada.groups.aadd(await Group.objects.acreate(name="students"))
    async with answering(ada, backend) as first, Page(ada) as second, Page(bela) as other:
        assert await place_of(second) == 1
        at_once = asyncio.Event()
        backend.script = [at_once, *answer("At once.")]
        assert await place_of(other) == 0
        at_once.set()
        assert (await other.until(*ENDS))[-1]["state"] == "completed"
        gate.set()
        for page in (first, second):
            assert (await page.ended()).state == "completed"
        assert (await first.answered("Nobody has the group's slot any more.")).state == "completed"


async def test_a_turn_is_marked_while_it_waits_and_not_once_its_model_is_asked(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event
) -> None:
    async with answering(ada, backend) as first, Page(ada) as second, Page(ada) as third:
        await second.ask()
        await third.ask()
        assert [await is_queued(second, until=True), await is_queued(third, until=True), await is_queued(first)] == [True, True, False]
        await third.tell("stop")
        assert (await third.until(*ENDS))[-1]["state"] == "stopped" and not await is_queued(third)
        backend.waiting.clear()
        again = asyncio.Event()
        backend.script = [again, *answer()]
        gate.set()
        await asyncio.wait_for(backend.waiting.wait(), 20)
        assert len(backend.requests) == 2 and not await is_queued(second), "cleared before it was asked"
        again.set()
        for page in (first, second):
            assert (await page.ended()).state == "completed" and not await is_queued(page)


async def test_a_question_for_which_there_is_no_slot_is_stored_as_queued(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event, database: Database
) -> None:
    """Its process may be killed before it has launched the turn: then another launches it."""
    async with answering(ada, backend) as first, Page(ada) as second:
        assert not first.turn.is_queued
        with database.holding("UPDATE chatui_turn SET is_queued"):
            assert (await second.ask()).is_queued, "from the start, not only once it waits"
        gate.set()
        for page in (first, second):
            assert (await page.ended()).state == "completed" and not await is_queued(page)


async def test_a_process_that_ends_leaves_its_queued_turns_to_others(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, lease_tick_seconds=3600.0)  # nothing takes them again
    async with answering(ada, backend), Page(ada) as waits:
        await waits.ask()
        await is_queued(waits, until=True)
        await leave()
        with as_another():
            await reap()
            row = await database_sync_to_async(Turn.objects.get)(pk=waits.turn.pk)
            assert (row.state, row.lease_owner) == ("running", "another process")
        gate.set()
        await settled()
    assert len(backend.requests) == 1, "the process that was late does not ask as well"
    assert (await Turn.objects.aget(pk=waits.turn.pk)).state == "running"
