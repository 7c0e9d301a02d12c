"""Recovery after a fault: a database or Redis that fails for a moment, a Stop at a bad moment, a process that ends."""

import asyncio
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import DataError, IntegrityError, InterfaceError, OperationalError

from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn, TurnPiece
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from tests.chatui.database.locks import write_lock
from tests.chatui.store import pieces
from tests.support import constants, faults
from tests.support.browser_socket import ENDS, shown_text
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.environment import change
from tests.support.other_processes import DEAD, as_another, leave, reap, store_as_another
from tests.support.page import Page, answered, opened, posted, rows_of, settled
from tests.support.scripted import (
    ANALYSIS,
    FINAL,
    PREAMBLE,
    ScriptedBackend,
    Step,
    answer,
    closed,
    ended,
    frame,
    more,
    open_frame,
    withdrawal,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults]

HISTORY = "WITH RECURSIVE up.* JOIN chatui_message message"
FRAMES, BRANCH = "INSERT INTO chatui_message ", "UPDATE chatui_activeleaf"
RENEWAL, END = "UPDATE chatui_turn SET lease_until", "UPDATE chatui_turn SET state"
ALWAYS = float("inf")


@pytest.fixture
def gate() -> asyncio.Event:
    return asyncio.Event()


def in_the_middle(gate: asyncio.Event) -> list[Step]:
    """An answer that waits in the middle."""
    return [*open_frame(FINAL, "Half"), gate, more(" and half"), closed(), *answer()]


async def waits(backend: ScriptedBackend) -> None:
    await asyncio.wait_for(backend.waiting.wait(), 20)
    backend.waiting.clear()


async def texts(turn: Turn) -> list[str]:
    return [message.text for message in await rows_of(turn)]


async def saved(turn: Turn, count: int) -> list[tuple[str, str]]:
    """Header and text of the pieces of its open frames, once there are so many."""
    async with asyncio.timeout(20):
        while True:
            found = [(row.header, row.text) async for row in TurnPiece.objects.filter(turn=turn.pk).order_by("number")]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.02)


async def test_stop_before_the_history_is_loaded_ends_the_turn_at_once(ada: User, backend: ScriptedBackend, database: Database) -> None:
    first = await answered(ada)
    async with Page(ada) as page:
        with database.holding(HISTORY):
            await page.ask(conversation=first.conversation_id)
            await page.tell("stop")
            assert (await page.until(*ENDS))[-1]["state"] == "stopped"
        await settled()
    assert len(backend.requests) == 1


async def test_a_history_that_cannot_be_read_fails_the_turn_and_says_so(ada: User, backend: ScriptedBackend) -> None:
    first = await answered(ada)
    await Message.objects.filter(pk=first.question_id).aupdate(text="no frame at all")
    async with Page(ada) as page:
        await page.ask(conversation=first.conversation_id)
        seen = await page.until("response.failed")
        await settled()
    turn = await Turn.objects.aget(pk=page.turn.pk)
    assert (turn.state, turn.error_code) == ("failed", "E-X-INTERNAL")
    assert [event["sequence_number"] for event in seen if "sequence_number" in event][-1] == 2


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
async def test_one_failed_renewal_does_not_end_lease_renewal(
    error: type[Exception], ada: User, backend: ScriptedBackend, gate: asyncio.Event, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = in_the_middle(gate)
    constants.change(monkeypatch, lease_tick_seconds=0.02)
    database.refuse(RENEWAL, error("database is locked"), times=2)
    async with Page(ada) as page:
        turn = await page.ask()
        await waits(backend)
        assert [text for _, text in await saved(turn, 1)] == ["Half"] and len(database.met) == 2
        gate.set()
        assert (await page.ended()).state == "completed"


async def test_closing_an_account_stops_its_turns(
    ada: User, bela: User, backend: ScriptedBackend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = in_the_middle(gate)
    constants.change(monkeypatch, lease_tick_seconds=0.02)
    async with Page(ada) as page:
        turn = await page.ask()
        await waits(backend)
        await User.objects.filter(pk=bela.pk).aupdate(is_active=False)
        await asyncio.sleep(0.2)
        assert (await Turn.objects.aget(pk=turn.pk)).state == "running", "the twin: another's account"
        await User.objects.filter(pk=ada.pk).aupdate(is_active=False)
        await settled()
    assert (await Turn.objects.aget(pk=turn.pk)).state == "stopped"


async def test_a_short_database_failure_loses_no_text(ada: User, backend: ScriptedBackend, gate: asyncio.Event, database: Database) -> None:
    first = await answered(ada)
    backend.script = [*frame(PREAMBLE, "Let me see"), gate, *answer()]
    async with Page(ada) as page:
        database.refuse(HISTORY)
        await page.ask(conversation=first.conversation_id)
        await waits(backend)
        for statement in (BRANCH, END):
            database.refuse(statement, times=2)
        gate.set()
        turn = await page.ended()
    assert (turn.state, turn.error_code, len(database.met)) == ("completed", "", 5)
    assert (await texts(turn))[-1].endswith("Four. <|return|>")


@pytest.mark.parametrize(
    ("write", "script", "end"),
    [
        (FRAMES, answer(), ("completed", 2)),
        (FRAMES, [*frame(PREAMBLE, "Let me see"), *answer()], ("completed", 3)),
        (END, [ended()], ("failed", 0)),
    ],
    ids=["frames with the end", "frames before the end", "the end alone"],
)
async def test_what_was_stored_without_a_confirmation_is_stored_once(
    write: str, script: list[Step], end: tuple[str, int], ada: User, backend: ScriptedBackend, gate: asyncio.Event, database: Database
) -> None:
    backend.script = [gate, *script]
    async with Page(ada) as page:
        await page.ask()
        database.lose_confirmation(write)
        gate.set()
        turn = await page.ended()
    assert len(database.met) == 1, "the premise"
    assert (turn.state, len(await texts(turn)), await UsageEntry.objects.acount()) == (*end, 1)


@pytest.mark.parametrize(
    ("refused", "channels", "end"),
    [
        # The last step of the write: all of it is undone.
        (BRANCH, [], ("failed", "E-X-INTERNAL")),
        # The sweep ends the turn, once its lease is over.
        (END, ["analysis", "final"], ("running", "")),
    ],
    ids=["the answer fails the turn", "the end keeps the answer"],
)
async def test_what_the_database_refuses_for_good(
    refused: str, channels: list[str], end: tuple[str, str], ada: User, backend: ScriptedBackend, gate: asyncio.Event, database: Database
) -> None:
    backend.script = [gate, *answer()]
    async with Page(ada) as page:
        await page.ask()
        database.refuse(refused, DataError("value too long"), times=ALWAYS)
        gate.set()
        await settled()
    turn = await Turn.objects.aget(pk=page.turn.pk)
    assert (turn.state, turn.error_code) == end
    rows = await rows_of(turn)
    assert [message.channel for message in rows] == channels and all(message.is_complete for message in rows)


async def test_text_streams_while_the_database_is_locked_and_the_turn_ends_once_stored(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, saving_seconds=0.1)
    backend.script = [gate, *answer("Four.")]
    async with Page(ada) as page:
        await page.follow((await page.ask()).conversation_id)
        await page.until("chatui:snapshot")
        await waits(backend)
        with write_lock():
            gate.set()
            events = await page.until("response.delta.flush", timeout=10)
            events += await page.silence(0.5)
            assert not any(event["type"] in ENDS for event in events), "no end before the answer is stored"
            assert any(event["type"] == "chatui:saving" for event in events), "people see why it takes so long"
            assert not await Message.objects.filter(channel="final").aexists(), "the premise"
        events += await page.until(*ENDS)
        assert await Message.objects.filter(channel="final").aexists()
    assert "Four." in shown_text(events) and events[-1]["state"] == "completed"


async def test_withdrawn_text_is_hidden_in_the_pieces_of_a_dead_process(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, lease_tick_seconds=0.05)
    withdrawn = asyncio.Event()
    backend.script = [*open_frame(FINAL, "SECRET thoughts, "), withdrawn, withdrawal(), gate, ended()]
    async with Page(ada) as page:
        turn = await page.ask()
        [(header, text)] = await saved(turn, 1)
        assert "final" in header and "SECRET" in text, "the premise: people would see it"
        constants.change(monkeypatch, lease_tick_seconds=3600.0)
        await asyncio.sleep(0.2)
        withdrawn.set()
        await saved(turn, 2)  # at once, not when the timer fires
        await database_sync_to_async(pieces.leave)(turn.pk, "", "user")  # simulates a crash: it publishes nothing, and its lease expires
        with as_another():
            await reap()
        [message] = await rows_of(turn)
        assert "SECRET" in message.text and not message.is_visible
        gate.set()
        await settled()


async def test_a_failing_receiver_does_not_stop_a_turn_from_receiving(ada: User, backend: ScriptedBackend, gate: asyncio.Event) -> None:
    backend.script = [*frame(ANALYSIS, "thinking"), gate, *answer()]
    async with Page(ada) as first, Page(ada) as page:
        turn = await first.ask()
        await waits(backend)
        faults.add_failing_listeners(turn.conversation_id, turn.pk)
        await page.follow(turn.conversation_id)
        await page.until("chatui:snapshot", timeout=1)
        gate.set()
        await page.until(*ENDS, timeout=5)
        assert (await first.ended()).state == "completed"


async def test_an_answer_completes_and_is_visible_while_redis_is_away(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    change(monkeypatch, {"redis_url": "redis://127.0.0.1:1/0"})
    backend.script = [*frame(ANALYSIS, "thinking"), gate, *answer("All of it.")]
    async with Page(ada) as first, Page(ada) as page:
        turn = await first.ask()
        await page.follow(turn.conversation_id)
        await page.until("chatui:snapshot", timeout=4)
        gate.set()
        assert "All of it." in shown_text(await page.until(*ENDS, timeout=5))
        assert (await first.ended()).state == "completed"
    assert "Redis is away" in caplog.text, "the premise"


async def test_a_turn_that_cannot_be_rendered_still_ends(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    faults.break_display(monkeypatch)
    async with Page(ada) as page:
        await page.ask()
        await asyncio.wait_for(settled(), 5)
    turn = await Turn.objects.aget(pk=page.turn.pk)
    assert (turn.state, turn.error_code) == ("failed", "E-X-INTERNAL")


async def test_stop_works_when_a_snapshot_cannot_be_made(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = faults.break_snapshots(monkeypatch)
    backend.script = [*open_frame(FINAL, "Half"), asyncio.Event()]
    async with Page(ada) as page, Page(ada) as late:
        turn = await page.ask()
        await waits(backend)
        await late.follow(turn.conversation_id)
        await asyncio.wait_for(tried.wait(), 20)
        assert "chatui:snapshot" not in [event["type"] for event in await late.silence(0.1)], "the premise"
        await page.tell("stop")
        assert (await page.ended()).state == "stopped"


async def test_a_frame_stored_with_the_end_is_not_stored_again_from_its_pieces(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process stored the frame, and died before it stored the end of the turn, which deletes the pieces."""
    constants.change(monkeypatch, lease_tick_seconds=0.02)
    backend.script = [*open_frame(FINAL, "Half"), gate, more(" and half"), closed(), ended()]
    async with Page(ada) as page:
        turn = await page.ask()
        await saved(turn, 1)
        database.refuse(END, DataError("a number is too large"), times=ALWAYS)
        gate.set()
        await settled()
    database.recover()
    assert await saved(turn, 1), "the premise"
    await Turn.objects.filter(pk=turn.pk).aupdate(lease_until="2020-01-01T00:00:00Z", lease_owner=DEAD)
    await reap()
    assert (await Turn.objects.aget(pk=turn.pk)).state == "interrupted"
    assert [text.rpartition("<|message|>")[2] for text in await texts(turn)] == ["Half and half<|end|>"]


async def test_the_same_ask_through_two_sockets_is_one_turn(ada: User, backend: ScriptedBackend) -> None:
    client_id = uuid4()
    async with Page(ada) as one, Page(ada) as two, Page(ada) as three:
        replies: list[dict[str, Any]] = await asyncio.gather(*(page.tried(client_id=client_id) for page in (one, two, three)))
        await settled()
    assert {event["type"] for event in replies} == {"chatui:accepted"} and len({event["turn"] for event in replies}) == 1
    assert await Turn.objects.acount() == len(backend.requests) == 1


async def test_the_same_ask_that_another_process_stored_at_that_moment_is_one_turn(
    ada: User, backend: ScriptedBackend, database: Database
) -> None:
    """This process looked for it before the other one had committed, so only the database tells it."""
    client_id = uuid4()
    database.refuse("INSERT INTO chatui_turn ", IntegrityError())
    database.before("SELECT chatui_turn.* AND chatui_turn.client_id = ", partial(store_as_another, ada, client_id=client_id))
    async with Page(ada) as page:
        accepted = await page.tried(client_id=client_id)
        await settled()
    assert len(database.met) == 2, "the premise"
    turn = await Turn.objects.aget()
    assert (accepted["type"], accepted.get("turn"), turn.lease_owner) == ("chatui:accepted", str(turn.pk), DEAD)
    assert await Conversation.objects.acount() == 1 and backend.requests == [], "nothing is left of the second, and the first is asked"


async def test_a_question_whose_commit_was_not_confirmed_is_asked_once_and_shown_in_the_language_of_its_page(
    ada: User, backend: ScriptedBackend, database: Database
) -> None:
    database.lose_confirmation("INSERT INTO chatui_turn ")
    async with Page(ada, path="/ws/?language=de") as page:
        await page.ask()
        begun = (await page.until("response.created"))[-1]
        assert (await page.ended()).state == "completed"
    assert len(database.met) == 1, "the premise"
    assert await Turn.objects.acount() == len(backend.requests) == 1
    assert begun["language"] == "de" and "Sie schrieben" in begun["html"]


async def test_a_running_answer_does_not_move_the_reader_off_another_branch(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event
) -> None:
    first = await answered(ada)
    backend.script = [*frame(PREAMBLE, "Let me see"), gate, *answer("Five.")]
    async with Page(ada) as page:
        await page.ask("", type="regenerate", conversation=first.conversation_id, question=first.question_id)
        await waits(backend)
        [old, *_] = await rows_of(first)
        assert await posted(ada, f"/c/{first.conversation_id}/branch/", message=old.pk) < 400
        gate.set()
        await page.ended()
    leaf = await ActiveLeaf.objects.select_related("message").aget(conversation=first.conversation_id, person=ada)
    assert leaf.message.turn_id == first.pk


async def test_a_clean_shutdown_keeps_all_text_and_releases_all_leases(
    ada: User, backend: ScriptedBackend, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, lease_tick_seconds=3600.0)  # nothing takes them again
    backend.script = [*frame(ANALYSIS, "thinking"), *open_frame(FINAL, "Half an ans"), gate, ended()]
    async with Page(ada) as page:
        turn = await page.ask()
        await waits(backend)
        await leave()
        address = f"/c/{turn.conversation_id}/"
        await opened(ada, address)
        assert (await Turn.objects.aget(pk=turn.pk)).state == "running", "nobody sweeps what this process runs"
        with as_another():
            await opened(ada, address)
        gate.set()
        await settled()
    ended_turn = await Turn.objects.aget(pk=turn.pk)
    assert (ended_turn.state, ended_turn.error_code) == ("interrupted", "E-STREAM-TRUNCATED")
    assert (await texts(turn))[-1].endswith("Half an ans<|end|>")
