"""What a fault leaves behind: a database or a channel layer that fails for a moment, a Stop at a bad moment, a process that ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from channels.exceptions import ChannelFull
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from chatui.display import conversation_actions
from chatui.live import consumer
from chatui.models import Conversation, Message, Turn, User
from chatui.store import transcripts
from chatui.turns import database, groups, ledger, runner, running, sweep
from chatui.turns.start import Ask, Kind, Started, start
from chatui.turns.stream import DebugStream, EndUserStream
from renderer.events import Finished, FrameOpened, FrameText
from renderer.frames import Frame, Header, Terminator
from renderer.gate import Audience
from tests.support.browser_socket import BrowserSocket
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, answer, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.faults]


def ask(text: str = "What is 2 + 2?", kind: Kind = Kind.SEND, **fields: object) -> Ask:
    return Ask(kind=kind, client_id=uuid4(), effort="medium", text=text, **fields)  # type: ignore[arg-type]


async def keep_question(person: User, wanted: Ask | None = None) -> Started:
    return await database_sync_to_async(start)(person, wanted or ask(), running.LEASE_OWNER)


async def begin(person: User, wanted: Ask | None = None) -> Started:
    started = await keep_question(person, wanted)
    await running.launch(started)
    return started


async def end_of(started: Started) -> Turn:
    await asyncio.wait_for(running.settle(), 5)
    return await Turn.objects.select_related("conversation").aget(pk=started.turn.pk)


async def texts(turn: Turn) -> list[str]:
    return [message.text async for message in Message.objects.filter(turn=turn).order_by("position")]


def failing(function: Callable[..., Any], times: int, error: type[Exception] = OperationalError) -> Callable[..., Any]:
    """The same function, behind a database that refuses that many times."""
    left = [times]

    def call(*arguments: Any, **named: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise error("database is locked")
        return function(*arguments, **named)

    return call


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PAUSES", (0.0, 0.01, 0.01))


async def test_stop_before_the_history_is_loaded_ends_the_turn_at_once(ada: User, backend: ScriptedBackend) -> None:
    started = await begin(ada)
    await running.stop(started.turn.pk)
    turn = await end_of(started)
    assert (turn.state, backend.requests) == ("stopped", [])


async def test_a_history_that_cannot_be_read_fails_the_turn_and_says_so(ada: User, backend: ScriptedBackend) -> None:
    started = await keep_question(ada)
    await Message.objects.filter(pk=started.turn.question_id).aupdate(text="no frame at all")
    async with BrowserSocket(ada) as socket:
        await socket.say("subscribe", conversation=str(started.turn.conversation_id))
        await asyncio.sleep(0.05)
        await running.launch(started)
        turn = await end_of(started)
        assert (turn.state, turn.error_code) == ("failed", "E-X-INTERNAL")
        seen = await socket.until("response.failed")
    assert [event["sequence_number"] for event in seen if "sequence_number" in event][-1] == 2


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
async def test_one_failed_renewal_does_not_end_the_renewing(
    error: type[Exception], ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    backend.script = [FrameOpened(FINAL), FrameText("Half"), gate, FrameText(" and half"), *frame(FINAL, "")[2:], *answer()]
    monkeypatch.setattr(runner, "RENEW_SECONDS", 0.02)
    monkeypatch.setattr(ledger, "renew", failing(ledger.renew, 1, error))
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    async with asyncio.timeout(5):
        while not await Turn.objects.filter(pk=started.turn.pk, checkpoint__contains="Half").aexists():
            await asyncio.sleep(0.02)
    gate.set()
    assert (await end_of(started)).state == "completed"


async def test_a_database_that_refuses_for_a_moment_costs_no_word_of_the_answer(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "load", failing(ledger.load, 1))
    monkeypatch.setattr(ledger, "keep", failing(ledger.keep, 2))
    monkeypatch.setattr(ledger, "finish", failing(ledger.finish, 2))
    turn = await end_of(await begin(ada))
    assert (turn.state, turn.error_code) == ("completed", "")
    assert (await texts(turn))[-1].endswith("Four. <|return|>")


async def test_a_frame_whose_commit_went_unheard_is_kept_once(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, unheard = ledger.keep, [True]

    def keep_and_break(*arguments: Any) -> None:
        keep(*arguments)
        if unheard:
            unheard.clear()
            raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(ledger, "keep", keep_and_break)
    turn = await end_of(await begin(ada))
    assert (turn.state, len(await texts(turn))) == ("completed", 2)


async def test_a_socket_that_is_full_does_not_make_a_turn_deaf(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "thinking"), gate, *answer()]
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    layer = groups.layer()
    full = await layer.new_channel()
    with pytest.raises(ChannelFull):
        while True:
            await layer.send(full, {"type": "turn.events", "json": "[]"})
    await running.ask_snapshot(started.turn.pk, Audience.END_USER, full)
    async with BrowserSocket(ada) as socket:
        await socket.say("subscribe", conversation=str(started.turn.conversation_id))
        await socket.until("chatui:snapshot", timeout=1)
    gate.set()
    assert (await end_of(started)).state == "completed"


class BrokenLayer:
    """A channel layer whose server is down."""

    async def new_channel(self) -> str:
        return "specific.inmemory!broken"

    async def _fail(self, *_: object) -> None:
        raise ConnectionError("redis is down")

    group_add = group_discard = group_send = send = receive = _fail


async def test_an_answer_is_written_to_its_end_without_a_channel_layer(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "layer", BrokenLayer)
    turn = await end_of(await begin(ada))
    assert (turn.state, len(await texts(turn))) == ("completed", 2)


async def test_a_turn_that_began_while_the_channel_layer_was_down_can_be_reached_afterwards(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "thinking"), gate, *answer()]
    monkeypatch.setattr(runner, "LAYER_PAUSE", 0.01)
    with monkeypatch.context() as down:
        down.setattr(groups, "layer", BrokenLayer)
        started = await begin(ada)
        await asyncio.wait_for(backend.waiting.wait(), 5)
    await asyncio.sleep(0.05)
    async with BrowserSocket(ada) as socket:
        await socket.say("subscribe", conversation=str(started.turn.conversation_id))
        await socket.until("chatui:snapshot", timeout=1)
    gate.set()
    await end_of(started)


async def test_a_turn_that_cannot_be_shown_still_has_its_end(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_a_snapshot_that_cannot_be_made_leaves_stop_working(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(EndUserStream, "snapshot", broken)
    backend.script = [FrameOpened(FINAL), FrameText("Half"), asyncio.Event()]
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    await running.ask_snapshot(started.turn.pk, Audience.END_USER, "nobody")
    await asyncio.sleep(0.05)
    await groups.layer().group_send(groups.control(started.turn.pk), {"type": "turn.stop"})  # as another process would
    assert (await end_of(started)).state == "stopped"


async def test_a_checkpoint_that_was_read_before_its_frame_was_kept_is_not_kept_as_well(ada: User) -> None:
    started = await keep_question(ada)
    turn = started.turn
    await Turn.objects.filter(pk=turn.pk).aupdate(
        lease_until=timezone.now() - timedelta(seconds=1), checkpoint="<|start|>assistant<|channel|>final<|message|>Half<|end|>"
    )
    stale = await Turn.objects.select_related("conversation", "question").aget(pk=turn.pk)
    job = await database_sync_to_async(ledger.load)(turn.pk)
    finished = Finished(Frame(FINAL, "Half and half", Terminator.RETURN))
    await database_sync_to_async(ledger.keep)(job, job.question_id, uuid4(), finished)
    assert await database_sync_to_async(sweep._interrupt)(stale)
    assert [text.rpartition("<|message|>")[2] for text in await texts(turn)] == ["Half and half<|return|>"]


async def test_the_same_ask_through_two_sockets_at_once_is_one_turn(ada: User) -> None:
    wanted = ask()
    thread_each = [asyncio.to_thread(_start_and_close, ada, wanted) for _ in range(3)]
    started = await asyncio.gather(*thread_each)
    assert len({item.turn.pk for item in started}) == 1
    assert sorted(item.is_new for item in started) == [False, False, True]


def _start_and_close(person: User, wanted: Ask) -> Started:
    """In a thread of its own, as in a process of its own."""
    try:
        return start(person, wanted, running.LEASE_OWNER)
    finally:
        connection.close()


async def test_an_answer_that_runs_does_not_take_the_reader_off_another_branch(ada: User, backend: ScriptedBackend) -> None:
    first = await end_of(await begin(ada))
    gate = asyncio.Event()
    backend.script = [*frame(PREAMBLE, "Let me see"), gate, *answer("Five.")]
    started = await begin(ada, ask("", Kind.REGENERATE, conversation=first.conversation_id, question=first.question_id))
    await asyncio.wait_for(backend.waiting.wait(), 5)
    old = await Message.objects.filter(turn=first).afirst()
    assert old is not None
    await database_sync_to_async(conversation_actions.open_branch)(ada, first.conversation_id, old.pk)
    gate.set()
    await end_of(started)
    leaf = await database_sync_to_async(transcripts.active_leaf)(first.conversation, ada)
    assert leaf is not None and leaf.turn_id == first.pk


async def test_a_process_that_ends_in_good_order_keeps_every_word_and_holds_no_lease(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "thinking"), FrameOpened(FINAL), FrameText("Half an ans"), gate, *answer()[-1:]]
    started = await begin(ada)
    await asyncio.wait_for(backend.waiting.wait(), 5)
    await database_sync_to_async(running.let_go)()
    assert await database_sync_to_async(sweep.interrupt_abandoned)() == 1
    gate.set()
    turn = await end_of(started)
    assert (turn.state, turn.error_code) == ("interrupted", "E-STREAM-TRUNCATED")
    assert (await texts(turn))[-1].endswith("Half an ans<|end|>")


async def test_a_page_that_asks_often_waits_for_one_snapshot(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "SNAPSHOT_SECONDS", 0.1)
    started = await keep_question(ada)  # nobody runs it, as after a crash
    looks: list[object] = []

    async def count(*arguments: object) -> None:
        looks.append(arguments)

    monkeypatch.setattr(running, "ask_snapshot", count)
    async with BrowserSocket(ada) as socket:
        for _ in range(10):
            await socket.say("subscribe", conversation=str(started.turn.conversation_id))
        await asyncio.sleep(0.55)
    assert len(looks) <= 10 + 6, "ten answers, and one look again each tenth of a second"


async def test_hidden_text_is_held_in_pieces_of_a_flush_and_a_snapshot_holds_what_was_numbered() -> None:
    stream, key = DebugStream(uuid4()), uuid4()
    stream.take(FrameOpened(Header("assistant", channel="analysis")), key)
    for _ in range(1000):
        stream.take(FrameText("word "), key)
    stream.flush()
    assert len(stream._frames[-1].parts) == 1
    stream.take(FrameText("more"), key)
    snapshot, rest = stream.snapshot(), stream.flush()
    assert snapshot.frames[-1].text == "word " * 1000
    assert [(item.sequence_number, item.event.as_json()["text"]) for item in rest] == [(snapshot.sequence_number + 1, "more")]
