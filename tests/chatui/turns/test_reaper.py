"""The reaper: closes turns of dead processes, answers questions that were never launched, and leaves live turns alone."""

import asyncio
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError
from django.utils import timezone

from chatui.database import connections
from chatui.database.faults import outages
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.store import transcripts
from chatui.turns import ledger, reaping, running, sweep
from chatui.turns.asks import Ask, AskKind
from chatui.turns.running import TurnPlace
from chatui.wire.bus import PROCESS
from renderer.frames import Frame, Header, Terminator
from tests.chatui.conftest import stored
from tests.chatui.store import pieces
from tests.chatui.turns.test_turns import ask, begin
from tests.support import constants
from tests.support.browser_socket import BrowserSocket
from tests.support.database import Statements
from tests.support.database import statements as statements
from tests.support.scripted import FINAL, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)


async def state_of(turn: Turn) -> str:
    return (await Turn.objects.aget(pk=turn.pk)).state


async def set_lease(turn: Turn, seconds: float) -> None:
    await Turn.objects.filter(pk=turn.pk).aupdate(lease_until=timezone.now() + timedelta(seconds=seconds))


async def test_pages_waiting_for_a_dead_process_are_told(ada: User, backend: ScriptedBackend) -> None:
    turn = (await stored(ada, ask(), "a process that died")).turn
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(turn.conversation_id))
        assert await socket.silence(0.2) == [], "the premise: it waits"
        await database_sync_to_async(pieces.leave)(turn.pk, "Half")
        await reaping.reap()
        event = (await socket.until("chatui:idle"))[-1]
    assert (event["turn"], event["state"]) == (str(turn.pk), "interrupted")
    message = await Message.objects.aget(turn=turn)
    assert message.text.endswith("Half<|end|>") and not message.is_complete
    assert not await database_sync_to_async(pieces.saved)(turn.pk)


async def test_of_several_unstored_frames_only_the_last_is_incomplete(ada: User, backend: ScriptedBackend) -> None:
    turn = (await stored(ada, ask(), "a process that died")).turn
    for text, channel in (
        ("hm", "analysis"),
        ("   ", "final"),
        ("Half", "final"),
    ):
        await database_sync_to_async(pieces.leave)(turn.pk, text, f"assistant<|channel|>{channel}")
    await reaping.reap()
    rows = [(row.channel, row.is_complete) async for row in Message.objects.filter(turn=turn).order_by("position")]
    assert rows == [("analysis", True), ("final", False)]


@pytest.mark.parametrize(("terminator", "state"), [(Terminator.RETURN, "completed"), (Terminator.END, "interrupted")])
async def test_a_whole_answer_only_lacks_the_end_of_its_turn(
    terminator: Terminator, state: str, ada: User, backend: ScriptedBackend
) -> None:
    started = await stored(ada, ask(), "a process that died")

    def keep() -> None:
        row = Turn.objects.select_related("conversation", "question").get(pk=started.turn.pk)
        whole = Frame(Header("assistant", "final"), "All of it.", terminator)
        transcripts.append(row.conversation, row.question, whole, ledger.author_of(whole), transcripts.FrameMetadata(turn_id=row.pk))

    await database_sync_to_async(keep)()
    await set_lease(started.turn, -1)
    await reaping.reap()
    turn = await Turn.objects.aget(pk=started.turn.pk)
    assert (turn.state, turn.error_code) == (state, "" if state == "completed" else "E-STREAM-TRUNCATED")
    entry = await UsageEntry.objects.aget()
    assert entry.turns == 1 and entry.is_estimate and turn.finished_at is not None


async def test_a_stored_question_that_was_never_launched_is_answered(ada: User, backend: ScriptedBackend) -> None:
    fresh, forgotten = (await stored(ada, ask())).turn, (await stored(ada, ask())).turn
    await set_lease(forgotten, 9)
    await reaping.reap()
    await running.settle()
    assert (await state_of(fresh), await state_of(forgotten)) == ("running", "completed"), "a fresh one is just about to be launched"
    assert len(backend.requests) == 1
    await set_lease(forgotten, 9)
    await Turn.objects.filter(pk=forgotten.pk).aupdate(state="running")
    await reaping.reap()
    await running.settle()
    assert len(backend.requests) == 1, "and none a second time"


async def test_a_continuation_that_was_never_launched_continues_its_answer(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(FINAL, "Two and")[:-1], gate]
    first = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 10)
    await running.stop(TurnPlace(first.turn.pk, PROCESS))
    await running.settle()
    question = Ask(AskKind.CONTINUE, ask().client_id, "", conversation=first.turn.conversation_id, continued_turn=first.turn.pk)
    forgotten = (await stored(ada, question)).turn
    await set_lease(forgotten, 9)
    backend.script = answer("two.")
    await reaping.reap()
    await running.settle()
    assert await state_of(forgotten) == "completed"
    assert "Two and two." in (await Message.objects.aget(turn=forgotten, channel="final")).text


async def test_a_turn_of_this_process_is_never_closed_however_late_its_lease(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, lease_tick_seconds=3600.0)
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 10)
    await set_lease(started.turn, -3600)
    await reaping.reap()
    assert await state_of(started.turn) == "running"
    gate.set()
    await running.settle()
    assert await state_of(started.turn) == "completed"


async def test_after_an_outage_owners_have_time_to_renew_their_leases(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = (await stored(ada, ask(), "another process")).turn
    await set_lease(turn, -1)
    with monkeypatch.context() as patch:
        patch.setattr(connections, "seconds_since_start", lambda: 5.0)
        await reaping.reap()
        assert await state_of(turn) == "running", "the database server has just been started again"
    outages.record()
    await reaping.reap()
    assert await database_sync_to_async(sweep.interrupt_abandoned)(turn.conversation) == []
    assert await state_of(turn) == "running"
    monkeypatch.setattr(outages, "seconds_since", lambda: sweep.GRACE_SECONDS)
    await reaping.reap()
    assert await state_of(turn) == "interrupted"


async def test_a_search_that_finds_nothing_is_one_statement(ada: User, backend: ScriptedBackend, statements: Statements) -> None:
    await stored(ada, ask(), "another process")
    await Conversation.objects.acreate(owner=ada, temporary_until=timezone.now() + timedelta(hours=1))
    await reaping.reap()  # what other tests left
    mark = len(statements)
    await reaping.reap()
    assert len(statements) == mark + 1, statements.since(mark)


async def test_a_failing_sweep_is_logged_as_an_outage_and_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    searches, repeated = list[float](), asyncio.Event()

    async def fail() -> None:
        searches.append(outages.seconds_since())
        if len(searches) > 1:
            repeated.set()
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(reaping, "reap", fail)
    reaping.start_reaping()
    await asyncio.wait_for(repeated.wait(), 10)
    reaping.stop_reaping()
    assert searches[0] > searches[1] and searches[1] < 10, "the second one knows of an outage"


async def test_stop_reaches_a_turn_of_another_process_through_the_database(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*frame(FINAL, "Half")[:-1], asyncio.Event()]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 10)
    await running.stop(TurnPlace(started.turn.pk, "another process, which no relay reaches"))
    await asyncio.wait_for(running.settle(), 10)
    assert (await state_of(started.turn), backend.closed) == ("stopped", 1)


async def test_deletion_in_another_process_ends_the_model_request(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*frame(FINAL, "Half")[:-1], asyncio.Event()]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 10)
    started.turn.conversation.deleted_at = timezone.now()
    await started.turn.conversation.asave(update_fields=["deleted_at"])
    await asyncio.wait_for(running.settle(), 10)
    assert backend.closed == 1
    assert await state_of(started.turn) == "stopped"
    assert (await Message.objects.aget(turn=started.turn)).text.endswith("Half <|end|>"), "Undo brings it back"
