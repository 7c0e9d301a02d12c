"""Recovery after a fault: a database or Redis that fails for a moment, a Stop at a bad moment, a process that ends."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import IntegrityError, InterfaceError, OperationalError, connection

from chatui.database.writer import writer
from chatui.display import conversation_actions
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn, TurnPiece
from chatui.models.user import User
from chatui.store import transcripts
from chatui.turns import leases, ledger, opening, running, start, sweep
from chatui.turns.asks import Ask, AskKind
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import RunningTurn
from chatui.turns.streams.end_user import EndUserStream
from chatui.wire import bus as wire_bus
from chatui.wire import relay
from chatui.wire.bus import bus
from renderer.events import Finished, FrameOpened, FrameText
from renderer.frames import Frame, Terminator
from renderer.gate import Audience
from tests.chatui.conftest import loaded, store, stored, visitor
from tests.chatui.store import pieces
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, answer, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults]


def ask(text: str = "What is 2 + 2?", kind: AskKind = AskKind.SEND, **fields: object) -> Ask:
    return Ask(kind=kind, client_id=uuid4(), effort="medium", text=text, **fields)  # type: ignore[arg-type]


async def keep_question(person: User, question: Ask | None = None) -> RunningTurn:
    return await stored(person, question or ask())


async def begin(person: User, question: Ask | None = None) -> RunningTurn:
    started = await keep_question(person, question)
    running.launch(started)
    return started


def place_of(started: RunningTurn) -> TurnPlace:
    return TurnPlace(started.turn.pk, started.turn.lease_owner)


async def end_of(started: RunningTurn) -> Turn:
    await asyncio.wait_for(running.settle(), 5)
    return await Turn.objects.select_related("conversation").aget(pk=started.turn.pk)


async def texts(turn: Turn) -> list[str]:
    return [message.text async for message in Message.objects.filter(turn=turn).order_by("position")]


def failing(function: Callable[..., Any], times: int, error: type[Exception] = OperationalError) -> Callable[..., Any]:
    """Wrap a function so that the database refuses its first ``times`` calls."""
    left = [times]

    def call(*arguments: Any, **named: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise error("database is locked")
        return function(*arguments, **named)

    return call


async def test_stop_before_the_history_is_loaded_ends_the_turn_at_once(ada: User, backend: ScriptedBackend) -> None:
    started = await begin(ada)
    await running.stop(place_of(started))
    turn = await end_of(started)
    assert (turn.state, backend.requests) == ("stopped", [])


async def test_a_history_that_cannot_be_read_fails_the_turn_and_says_so(ada: User, backend: ScriptedBackend) -> None:
    first = await end_of(await begin(ada))
    started = await keep_question(ada, ask(conversation=first.conversation_id))
    await Message.objects.filter(pk=first.question_id).aupdate(text="no frame at all")
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(started.turn.conversation_id))
        await socket.silence(0.05)
        running.launch(started)
        turn = await end_of(started)
        assert (turn.state, turn.error_code) == ("failed", "E-X-INTERNAL")
        seen = await socket.until("response.failed")
    assert [event["sequence_number"] for event in seen if "sequence_number" in event][-1] == 2


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
async def test_one_failed_renewal_does_not_end_lease_renewal(
    error: type[Exception], ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    backend.script = [FrameOpened(FINAL), FrameText("Half"), gate, FrameText(" and half"), *frame(FINAL, "")[2:], *answer()]
    monkeypatch.setattr(leases, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(leases, "renew", failing(leases.renew, 2, error))
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    async with asyncio.timeout(5):
        while not await database_sync_to_async(pieces.saved)(started.turn.pk):
            await asyncio.sleep(0.02)
    assert [text for _, text in await database_sync_to_async(pieces.saved)(started.turn.pk)] == ["Half"]
    gate.set()
    assert (await end_of(started)).state == "completed"


async def test_closing_an_account_stops_its_turns(ada: User, bela: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = asyncio.Event()
    backend.script = [FrameOpened(FINAL), FrameText("Half"), gate, FrameText(" and half"), *frame(FINAL, "")[2:], *answer()]
    monkeypatch.setattr(leases, "TICK_SECONDS", 0.02)
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    await User.objects.filter(pk=bela.pk).aupdate(is_active=False)
    await asyncio.sleep(0.2)
    assert (await database_sync_to_async(Turn.objects.get)(pk=started.turn.pk)).state == "running", "the twin: another's account"
    await User.objects.filter(pk=ada.pk).aupdate(is_active=False)
    assert (await end_of(started)).state == "stopped"


async def test_a_short_database_failure_loses_no_text(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await end_of(await begin(ada))
    monkeypatch.setattr(opening, "load_branch", failing(opening.load_branch, 1))
    monkeypatch.setattr(transcripts, "follow", failing(transcripts.follow, 2))
    monkeypatch.setattr(ledger, "finish", failing(ledger.finish, 2))
    backend.script = [*frame(PREAMBLE, "Let me see"), *answer()]
    turn = await end_of(await begin(ada, ask(conversation=first.conversation_id)))
    assert (turn.state, turn.error_code) == ("completed", "")
    assert (await texts(turn))[-1].endswith("Four. <|return|>")


async def test_a_frame_whose_commit_was_not_confirmed_is_stored_once(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, is_lost = ledger.store_frames, [True]

    def keep_and_break(*arguments: Any) -> Any:
        result = keep(*arguments)
        if is_lost:
            is_lost.clear()
            raise OperationalError("server closed the connection unexpectedly")
        return result

    monkeypatch.setattr(ledger, "store_frames", keep_and_break)
    backend.script = [*frame(PREAMBLE, "Let me see"), *answer()]
    turn = await end_of(await begin(ada))
    assert not is_lost and (turn.state, len(await texts(turn))) == ("completed", 3)


async def test_a_failing_receiver_does_not_stop_a_turn_from_receiving(ada: User, backend: ScriptedBackend) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "thinking"), gate, *answer()]
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    bus().join(wire_bus.audience(started.turn.conversation_id, Audience.END_USER), fail)
    bus().join("failing", fail)
    running.ask_snapshot(place_of(started), Audience.END_USER, "failing")
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(started.turn.conversation_id))
        await socket.until("chatui:snapshot", timeout=1)
        gate.set()
        await socket.until(*ENDS, timeout=5)
    assert (await end_of(started)).state == "completed"


async def test_an_answer_completes_and_is_visible_while_redis_is_away(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "environment", lambda: SimpleNamespace(redis_url="redis://127.0.0.1:1/0"))
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "thinking"), gate, *answer("All of it.")]
    started = await begin(ada)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(started.turn.conversation_id))
        await socket.until("chatui:snapshot", timeout=relay.ANSWER_SECONDS + 1)
        gate.set()
        assert "All of it." in shown_text(await socket.until(*ENDS, timeout=5))
    assert (await end_of(started)).state == "completed"


async def test_a_turn_that_cannot_be_rendered_still_ends(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(EndUserStream, "take", fail)
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        assert (await socket.until("chatui:accepted"))[-1]
        conversation = await Conversation.objects.aget()
        turn = await Turn.objects.aget(conversation=conversation)
        await asyncio.wait_for(running.settle(), 5)
        await turn.arefresh_from_db()
    assert (turn.state, turn.error_code) == ("failed", "E-X-INTERNAL")


async def test_stop_works_when_a_snapshot_cannot_be_made(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(EndUserStream, "snapshot", broken)
    backend.script = [FrameOpened(FINAL), FrameText("Half"), asyncio.Event()]
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    running.ask_snapshot(place_of(started), Audience.END_USER, "nobody")
    bus().send(wire_bus.control(started.turn.pk), {"type": "turn.stop"})  # as another process would
    assert (await end_of(started)).state == "stopped"


async def test_a_frame_stored_with_the_end_is_not_stored_again_from_its_pieces(ada: User) -> None:
    started = await keep_question(ada)
    turn = started.turn
    await database_sync_to_async(pieces.leave)(turn.pk, "Half")
    stale = await Turn.objects.select_related("conversation", "question").aget(pk=turn.pk)
    job = await database_sync_to_async(loaded)(started)
    finished = Finished(Frame(FINAL, "Half and half", Terminator.RETURN))
    key = (await TurnPiece.objects.aget()).frame
    await writer.run(ledger.store_frames, job, [job.turn.question_id], [(key, finished)])
    assert await database_sync_to_async(sweep.interrupt)(stale)
    assert [text.rpartition("<|message|>")[2] for text in await texts(turn)] == ["Half and half<|return|>"]


async def test_the_same_ask_through_two_sockets_is_one_turn(ada: User) -> None:
    question = replace(ask(), language="de")
    thread_each = [asyncio.to_thread(_start_and_close, ada, question) for _ in range(3)]
    started = await asyncio.gather(*thread_each)
    assert len({item.turn.pk for item in started}) == 1
    assert sorted(item.is_new for item in started) == [False, False, True]
    assert {item.ask.language for item in started} == {"de"}


def _start_and_close(person: User, question: Ask) -> RunningTurn:
    """Run in a separate thread, as if in another process."""
    try:
        return store(person, question)
    except IntegrityError:
        return start.started_before(person, question)
    finally:
        connection.close()


async def test_a_running_answer_does_not_move_the_reader_off_another_branch(ada: User, backend: ScriptedBackend) -> None:
    first = await end_of(await begin(ada))
    gate = asyncio.Event()
    backend.script = [*frame(PREAMBLE, "Let me see"), gate, *answer("Five.")]
    started = await begin(ada, ask("", AskKind.REGENERATE, conversation=first.conversation_id, question=first.question_id))
    await asyncio.wait_for(backend.waiting.wait(), 5)
    old = await Message.objects.filter(turn=first).afirst()
    assert old is not None
    await database_sync_to_async(conversation_actions.open_branch)(visitor(ada), first.conversation_id, old.pk)
    gate.set()
    await end_of(started)
    leaf = await database_sync_to_async(transcripts.active_leaf)(first.conversation, ada)
    assert leaf is not None and leaf.turn_id == first.pk


async def test_a_clean_shutdown_keeps_all_text_and_releases_all_leases(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "thinking"), FrameOpened(FINAL), FrameText("Half an ans"), gate, *answer()[-1:]]
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    await database_sync_to_async(running.release_turns)()
    assert await database_sync_to_async(sweep.interrupt_abandoned)() == [], "nobody sweeps what this process runs"
    monkeypatch.setattr(leases.leases, "keys", list)  # as another process
    assert len(await database_sync_to_async(sweep.interrupt_abandoned)()) == 1
    gate.set()
    turn = await end_of(started)
    assert (turn.state, turn.error_code) == ("interrupted", "E-STREAM-TRUNCATED")
    assert (await texts(turn))[-1].endswith("Half an ans<|end|>")
