"""Questions that wait in the queue when their process ends: another process launches them once, and never one whose answer has begun."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.codes import Cause
from chatui.database import connections
from chatui.database.writer import writer
from chatui.models.message import Author, Message
from chatui.models.programs import ProgramAnswer
from chatui.models.turn import Turn
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.turns import leases, running, sweep
from chatui.turns.asks import AskKind, ProgramAsk
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import RunningTurn
from chatui.turns.slots import slots
from chatui.turns.streams.program import ProgramStream
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.chatui.database.locks import needs_sqlite, write_lock
from tests.chatui.store import pieces
from tests.support import constants
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.environment import change
from tests.support.messages import add_message
from tests.support.other_processes import DEAD, reap
from tests.support.scripted import ScriptedBackend, answer
from tests.support.turns import QUESTION, ask, begin, run, store

pytestmark = [pytest.mark.django_db(transaction=True)]

ADOPTION = "UPDATE chatui_turn SET lease_owner"


def queued_turn(person: User, text: str = QUESTION) -> Turn:
    """A turn that was queued when its process died."""
    turn = store(person, ask(text=text), DEAD).turn
    Turn.objects.filter(pk=turn.pk).update(is_queued=True, lease_until=timezone.now() - timedelta(seconds=1))
    return Turn.objects.get(pk=turn.pk)


left_queued = database_sync_to_async(queued_turn)


async def until_queued(turn: Turn, *, is_queued: bool = True) -> None:
    async with asyncio.timeout(20):
        while (await Turn.objects.aget(pk=turn.pk)).is_queued is not is_queued:
            await asyncio.sleep(0.01)


async def test_a_queued_question_of_a_dead_process_is_answered_and_its_page_follows(ada: User, backend: ScriptedBackend) -> None:
    turn = await left_queued(ada)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(turn.conversation_id))
        assert await socket.silence(0.2) == [], "the premise: it waits"
        await reap()
        events = await socket.until(*ENDS)
    await running.settle()
    [created] = [event for event in events if event["type"] == "response.created"]
    assert (created["turn"], created["kind"], "html" in created) == (str(turn.pk), "regenerate", False), "the page shows the question"
    assert created["sequence_number"] >= 100, "a page that has the first events of the dead process asks for a snapshot"
    ended = await Turn.objects.aget(pk=turn.pk)
    assert (ended.state, ended.lease_owner, ended.is_queued) == ("completed", leases.OWNER, False)
    assert len(backend.requests) == 1
    await reap()
    assert len(backend.requests) == 1, "and only once"


@pytest.mark.parametrize("seconds", [15, -1], ids=["its lease holds", "its lease is over"])
async def test_only_one_of_two_processes_launches_it(seconds: int, ada: User, backend: ScriptedBackend, database: Database) -> None:
    turn = await left_queued(ada)
    elsewhere = {"lease_owner": "a faster process", "lease_until": timezone.now() + timedelta(seconds=seconds)}
    database.before(ADOPTION, lambda: Turn.objects.filter(pk=turn.pk).update(**elsewhere))
    await reap()
    await running.settle()
    found = await Turn.objects.aget(pk=turn.pk)
    assert (found.state, found.is_queued, found.lease_owner, backend.requests) == ("running", True, "a faster process", [])
    [update] = database.met
    assert " IN (" not in update, "a subquery of the lease would let both have it"


async def test_each_adoption_begins_with_a_higher_number_whatever_the_clock_of_its_process_says(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, turn = [], await left_queued(ada)
    slots().close()
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(turn.conversation_id))
        for minutes in (10, 0, -10):
            monkeypatch.setattr("django.utils.timezone.now", lambda late=minutes: datetime.now(UTC) + timedelta(minutes=late))
            await Turn.objects.filter(pk=turn.pk).aupdate(lease_until=connections.after(-timedelta(seconds=1)), lease_owner=DEAD)
            await reap()
            numbers.append((await socket.until("response.created"))[-1]["sequence_number"])
            await running.finish()  # this process ends as well
            await asyncio.sleep(0.11)
    assert numbers == sorted(set(numbers)) and numbers[0] > 100 and backend.requests == []


def begun(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(is_queued=False)


def with_text(turn: Turn) -> None:
    pieces.leave(turn.pk, "Half")
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def with_message(turn: Turn) -> None:
    row = Turn.objects.select_related("conversation", "question").get(pk=turn.pk)
    thought = Frame(Header("assistant", "analysis"), "hm")
    add_message(row.conversation, row.question, thought, Author.MODEL, turn_id=row.pk)


def of_deleted(turn: Turn) -> None:
    turn.conversation.deleted_at = timezone.now()
    turn.conversation.save(update_fields=["deleted_at"])


def of_closed_account(turn: Turn) -> None:
    User.objects.filter(pk=turn.asked_by_id).update(is_active=False)


def of_program(turn: Turn) -> None:
    ProgramAnswer.objects.create(turn=turn, is_kept=True)


def stopped(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(stop_requested=True)


def too_old(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(started_at=timezone.now() - timedelta(hours=2))


CUT, BUSY = ("interrupted", "E-STREAM-TRUNCATED"), ("interrupted", "E-X-SERVER-BUSY")


@pytest.mark.parametrize(
    ("change", "end"),
    [
        (begun, CUT),
        (with_text, CUT),
        (with_message, CUT),
        (of_deleted, BUSY),
        (of_closed_account, BUSY),
        (of_program, BUSY),
        (too_old, BUSY),
        (stopped, ("stopped", "")),
    ],
)
async def test_others_are_ended_and_no_model_is_asked(
    change: Callable[[Turn], None], end: tuple[str, str], ada: User, backend: ScriptedBackend
) -> None:
    turn = await left_queued(ada)
    await database_sync_to_async(change)(turn)
    await reap()
    await running.settle()
    ended = await Turn.objects.aget(pk=turn.pk)
    assert (ended.state, ended.error_code, ended.is_queued) == (*end, False)
    assert ended.error_cause.startswith(Cause.PROCESS_ENDED) is bool(ended.error_code), "admins need not guess"
    assert backend.requests == []
    tokens = (await UsageEntry.objects.aget()).output_tokens
    assert (tokens > 0) is (change in (with_text, with_message)), "what never began costs nothing"


def test_the_running_turn_is_the_latest_whatever_the_clock_of_its_process_says(ada: User) -> None:
    first = queued_turn(ada)
    Turn.objects.filter(pk=first.pk).update(state="completed", is_queued=False)
    asked = ask(AskKind.REGENERATE, "", conversation=first.conversation_id, question=first.question_id)
    second = store(ada, asked, "a process whose clock is slow").turn
    Turn.objects.filter(pk=second.pk).update(started_at=first.started_at - timedelta(minutes=1))
    last = sweep.last_turn(first.conversation)
    assert last is not None and (last.pk, last.state) == (second.pk, "running")
    page = signed_in(ada).get(f"/c/{first.conversation_id}/").content.decode()
    assert f'data-turn="{second.pk}"' in page and 'data-state="running"' in page


def test_who_opens_or_asks_in_the_conversation_leaves_it_to_be_launched(ada: User) -> None:
    turn = queued_turn(ada)
    assert sweep.interrupt_abandoned(turn.conversation) == []
    last = sweep.last_turn(turn.conversation)
    assert last is not None and (last.state, last.lease_owner) == ("running", DEAD)


async def test_asking_there_is_refused_until_it_is_answered(ada: User, backend: ScriptedBackend) -> None:
    turn = await left_queued(ada)
    async with BrowserSocket(ada) as socket:
        await socket.send_message(conversation=str(turn.conversation_id))
        assert (await socket.until("chatui:refused"))[-1]["code"] == "E-X-BUSY"
    assert await Message.objects.filter(conversation=turn.conversation_id, role="user").acount() == 1


@pytest.fixture
async def waiting(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, Turn]:
    """A question that waits for the only slot, and what makes the answer that has it end."""
    change(monkeypatch, {"max_answers_at_once": 1})
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 20)
    second = (await begin(ada, ask())).turn
    await until_queued(second)
    return gate, second


async def test_a_lost_turn_gets_no_slot(
    waiting: tuple[asyncio.Event, Turn], ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, lease_tick_seconds=3600.0)  # nothing else tells of the loss
    gate, turn = waiting
    await Turn.objects.filter(pk=turn.pk).aupdate(lease_owner="another process")
    gate.set()
    await running.settle()
    assert (await Turn.objects.aget(pk=turn.pk)).is_queued and len(backend.requests) == 1
    assert (await run(ada, ask())).state == "completed", "the slot is free again"


@needs_sqlite
@pytest.mark.parametrize("ends", [False, True], ids=["it goes on", "the process ends"])
async def test_no_model_is_asked_before_the_row_says_that_the_turn_is_no_longer_queued(
    ends: bool, waiting: tuple[asyncio.Event, Turn], backend: ScriptedBackend
) -> None:
    gate, turn = waiting
    with write_lock():
        gate.set()
        settling = asyncio.create_task(running.settle())
        await asyncio.sleep(0.5)
        assert len(backend.requests) == 1, "another process may still launch it"
        if ends:
            settling.cancel()
            await asyncio.sleep(0.1)
    await asyncio.wait([settling], timeout=20)
    await writer.run(lambda: None)
    assert (await Turn.objects.aget(pk=turn.pk)).is_queued is ends and len(backend.requests) == (1 if ends else 2)


async def test_those_that_were_asked_first_are_launched_first(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"max_answers_at_once": 1})
    for number in range(4):
        turn = await left_queued(ada, f"Question {number}")
        await Turn.objects.filter(pk=turn.pk).aupdate(started_at=timezone.now() - timedelta(minutes=number))
    await reap()
    await running.settle()
    assert [request.frames[-1].body for request in backend.requests] == [f"Question {number}" for number in (3, 2, 1, 0)]


async def stored_before(draining: Coroutine[Any, Any, None], ada: User) -> RunningTurn:
    """A question that is still being stored when the process begins to end, and delays that."""
    with write_lock():
        asking = asyncio.create_task(begin(ada, ask()))
        await asyncio.sleep(0.1)
        ending = asyncio.create_task(draining)
        await asyncio.sleep(0.5)
        assert not ending.done()
    started = await asyncio.wait_for(asking, 20)
    await asyncio.wait_for(ending, 20)
    return started


@needs_sqlite
async def test_a_process_with_others_beside_it_answers_a_question_that_is_being_stored(ada: User, backend: ScriptedBackend) -> None:
    started = await stored_before(running.settle(), ada)
    assert (await Turn.objects.aget(pk=started.turn.pk)).state == "completed" and len(backend.requests) == 1


@needs_sqlite
async def test_a_process_that_ends_waits_for_a_question_that_is_being_stored(ada: User, backend: ScriptedBackend) -> None:
    started = await stored_before(running.finish(), ada)
    await running.settle()
    await until_queued(started.turn)  # the write is in the queue of the writer, which is emptied before the process exits
    left = await Turn.objects.aget(pk=started.turn.pk)
    assert (left.state, left.is_queued, backend.requests) == ("running", True, []), "the next process launches it"


@needs_sqlite
async def test_a_process_that_ends_waits_for_a_stop_that_is_being_stored(ada: User, backend: ScriptedBackend) -> None:
    slots().close()
    started = await begin(ada, ask())
    await until_queued(started.turn)
    with write_lock():
        await running.stop(TurnPlace(started.turn.pk, started.turn.lease_owner))
        finishing = asyncio.create_task(running.finish())
        await asyncio.sleep(0.5)
        assert not finishing.done()
    await asyncio.wait_for(finishing, 20)
    await running.settle()
    ended = await Turn.objects.aget(pk=started.turn.pk)
    assert (ended.state, ended.is_queued, backend.requests) == ("stopped", False, [])


async def test_a_request_of_a_program_that_only_waited_is_not_called_cut_off(ada: User, backend: ScriptedBackend) -> None:
    slots().close()
    started = await begin(ada, ask(program=ProgramAsk(ProgramStream())))
    await until_queued(started.turn)
    await running.finish()
    await running.settle()
    ended = await Turn.objects.aget(pk=started.turn.pk)
    assert (ended.state, ended.error_code, ended.error_cause) == ("interrupted", "E-X-SERVER-BUSY", Cause.PROCESS_ENDED.value)
