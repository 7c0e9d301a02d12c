"""The reaper: closes turns of dead processes, answers questions that were never launched, and leaves live turns alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.db import connection
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from renderer.frames import Frame, Header, Terminator
from renderer.ocml import document
from tests.chatui.store import pieces
from tests.support import constants
from tests.support.browser_socket import BrowserSocket
from tests.support.database import Database, Statements
from tests.support.database import database as database
from tests.support.database import statements as statements
from tests.support.other_processes import database_restarted, reap, reaping_often, set_lease, stored_by_another, stored_here
from tests.support.page import Page, opened, settled
from tests.support.scripted import FINAL, ScriptedBackend, answer, open_frame

pytestmark = pytest.mark.django_db(transaction=True)


async def state_of(turn: Turn) -> str:
    return (await Turn.objects.aget(pk=turn.pk)).state


async def test_pages_waiting_for_a_dead_process_are_told(ada: User, backend: ScriptedBackend) -> None:
    turn = await stored_by_another(ada)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(turn.conversation_id))
        assert await socket.silence(0.2) == [], "the premise: it waits"
        await database_sync_to_async(pieces.leave)(turn.pk, "Half")
        await reap()
        event = (await socket.until("chatui:idle"))[-1]
    assert (event["turn"], event["state"]) == (str(turn.pk), "interrupted")
    message = await Message.objects.aget(turn=turn)
    assert message.text.endswith("Half<|end|>") and not message.is_complete
    assert not await database_sync_to_async(pieces.saved)(turn.pk)


async def test_what_the_database_refuses_to_remove_is_logged_once(
    ada: User, backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    now = timezone.now()
    cut = await Conversation.objects.acreate(owner=ada, unfinished_until=now - timedelta(hours=1))
    ended = await Conversation.objects.acreate(owner=ada, temporary_until=now - timedelta(hours=1))

    def refuse() -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TRIGGER refused BEFORE DELETE ON chatui_conversation BEGIN SELECT RAISE(ABORT, 'no'); END")

    def permit() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER refused")

    await database_sync_to_async(refuse)()
    try:
        for _ in range(3):
            await reap()
    finally:
        await database_sync_to_async(permit)()
    logged = [each for each in caplog.messages if "refused to remove" in each]
    assert len(logged) == len(set(logged)) and all(any(str(row.pk) in each for each in logged) for row in (cut, ended))
    await reap()
    assert not await Conversation.objects.filter(pk__in=[cut.pk, ended.pk]).aexists(), "it was tried each time"


async def test_of_several_unstored_frames_only_the_last_is_incomplete(ada: User, backend: ScriptedBackend) -> None:
    turn = await stored_by_another(ada)
    for text, channel in (
        ("hm", "analysis"),
        ("   ", "final"),
        ("Half", "final"),
    ):
        await database_sync_to_async(pieces.leave)(turn.pk, text, f"assistant<|channel|>{channel}")
    await reap()
    rows = [(row.channel, row.is_complete) async for row in Message.objects.filter(turn=turn).order_by("position")]
    assert rows == [("analysis", True), ("final", False)]


@pytest.mark.parametrize(("terminator", "state"), [(Terminator.RETURN, "completed"), (Terminator.END, "interrupted")])
async def test_a_whole_answer_only_lacks_the_end_of_its_turn(
    terminator: Terminator, state: str, ada: User, backend: ScriptedBackend
) -> None:
    dead = await stored_by_another(ada)

    def keep() -> None:
        whole = document.dump_frame(Frame(Header("assistant", "final"), "All of it.", terminator))
        columns = {"role": "assistant", "channel": "final", "terminator": terminator, "author": Author.MODEL, "is_visible": True}
        place = {"conversation_id": dead.conversation_id, "parent_id": dead.question_id, "position": 1}
        Message.objects.create(turn=dead, text=whole, **columns, **place)

    await database_sync_to_async(keep)()
    await set_lease(dead, -1)
    await reap()
    turn = await Turn.objects.aget(pk=dead.pk)
    assert (turn.state, turn.error_code) == (state, "" if state == "completed" else "E-STREAM-TRUNCATED")
    entry = await UsageEntry.objects.aget()
    assert entry.turns == 1 and entry.is_estimate and turn.finished_at is not None


async def test_a_stored_question_that_was_never_launched_is_answered(ada: User, backend: ScriptedBackend) -> None:
    fresh, forgotten = await stored_here(ada), await stored_here(ada)
    await set_lease(forgotten, 9)
    await reap()
    await settled()
    assert (await state_of(fresh), await state_of(forgotten)) == ("running", "completed"), "a fresh one is just about to be launched"
    assert len(backend.requests) == 1
    await set_lease(forgotten, 9)
    await Turn.objects.filter(pk=forgotten.pk).aupdate(state="running")
    await reap()
    await settled()
    assert len(backend.requests) == 1, "and none a second time"


async def test_a_continuation_that_was_never_launched_continues_its_answer(ada: User, backend: ScriptedBackend) -> None:
    async with half_answered(ada, backend) as page:
        await page.tell("stop")
        first = await page.ended()
    forgotten = await stored_here(ada, "continue", conversation=first.conversation_id, continued_turn=first.pk)
    await set_lease(forgotten, 9)
    backend.script = answer("two.")
    await reap()
    await settled()
    assert await state_of(forgotten) == "completed"
    assert "Half two." in (await Message.objects.aget(turn=forgotten, channel="final")).text


async def test_a_turn_of_this_process_is_never_closed_however_late_its_lease(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, lease_tick_seconds=3600.0)
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    async with Page(ada) as page:
        turn = await page.ask()
        await asyncio.wait_for(backend.waiting.wait(), 20)
        await set_lease(turn, -3600)
        await reap()
        assert await state_of(turn) == "running"
        gate.set()
        assert (await page.ended()).state == "completed"


SEARCH = "SELECT 1 WHERE EXISTS"


async def test_after_an_outage_owners_have_time_to_renew_their_leases(
    ada: User, backend: ScriptedBackend, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that fails is an outage, and is repeated."""
    turn = await stored_by_another(ada)
    await set_lease(turn, -1)
    with database_restarted():
        await reap()
        assert await state_of(turn) == "running", "the database server has just been started again"
    database.refuse(SEARCH, times=2)
    async with reaping_often():
        # The first at once; the next sooner than after any other search, which is ten seconds: people wait for the end of the outage.
        for count, seconds in ((1, 20), (2, 8)):
            async with asyncio.timeout(seconds):
                while len(database.met) < count:
                    await asyncio.sleep(0.02)
    await reap()
    await opened(ada, f"/c/{turn.conversation_id}/")
    assert await state_of(turn) == "running", "neither the search nor a page ends it"
    constants.change(monkeypatch, grace_seconds=0)
    await reap()
    assert await state_of(turn) == "interrupted"


async def test_a_search_that_finds_nothing_is_one_statement(ada: User, backend: ScriptedBackend, statements: Statements) -> None:
    await stored_by_another(ada)
    await Conversation.objects.acreate(owner=ada, temporary_until=timezone.now() + timedelta(hours=1))
    await reap()  # what other tests left
    mark = len(statements)
    await reap()
    assert len(statements) == mark + 1, statements.since(mark)


@asynccontextmanager
async def half_answered(person: User, backend: ScriptedBackend) -> AsyncIterator[Page]:
    """A page whose answer is half written."""
    backend.script = [*open_frame(FINAL, "Half "), asyncio.Event()]
    async with Page(person) as page:
        await page.ask()
        await asyncio.wait_for(backend.waiting.wait(), 20)
        yield page


async def test_stop_reaches_a_turn_of_another_process_through_the_database(ada: User, backend: ScriptedBackend) -> None:
    elsewhere = await stored_by_another(ada)
    async with half_answered(ada, backend) as page, Page(ada) as other:
        other.turn = elsewhere
        await other.tell("stop")
        async with asyncio.timeout(20):
            while not (await Turn.objects.aget(pk=elsewhere.pk)).stop_requested:
                await asyncio.sleep(0.02)
        await Turn.objects.filter(pk=page.turn.pk).aupdate(stop_requested=True)  # as that process does now
        assert (await page.ended()).state == "stopped" and backend.closed == 1


async def test_deletion_in_another_process_ends_the_model_request(ada: User, backend: ScriptedBackend) -> None:
    async with half_answered(ada, backend) as page:
        await Conversation.objects.aupdate(deleted_at=timezone.now())
        turn = await page.ended()
    assert (turn.state, backend.closed) == ("stopped", 1)
    assert (await Message.objects.aget(turn=turn)).text.endswith("Half <|end|>"), "Undo brings it back"
