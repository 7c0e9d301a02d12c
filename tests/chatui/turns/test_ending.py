"""The end of a turn is stored once, and after its frames."""

import asyncio
import gc
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4
from weakref import ref

import pytest
from channels.db import database_sync_to_async
from django.db import DataError, OperationalError, transaction
from django.utils import timezone

from chatui.database.writer import writer
from chatui.models.message import Message
from chatui.models.turn import Turn, TurnPiece
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.store import transcripts
from chatui.turns import ending, leases, ledger, publisher, running, sweep
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.leases import Pieces
from chatui.turns.runner import Runner
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import LeaseLostError, RunningTurn, TokenAccount
from chatui.turns.sampling import Sampling
from chatui.turns.stages import ModelFrames, Stage
from chatui.wire.bus import PROCESS
from renderer.events import FrameOpened, FrameText, FrameWithdrawn
from tests.chatui.conftest import loaded, store
from tests.chatui.database.locks import write_lock
from tests.chatui.store import pieces
from tests.chatui.turns.test_turns import ask, begin, of_another, run
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.scripted import FINAL, ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)


def ends_now(job: RunningTurn) -> RunningTurn:
    """The turn, which ends now."""
    job.account = TokenAccount(ended_at=timezone.now())
    return job


def test_a_commit_whose_confirmation_was_lost_is_not_repeated(ada: User) -> None:
    job = ends_now(loaded(store(ada, ask())))
    ledger.finish(job)
    ledger.finish(job)
    assert (Turn.objects.get().state, UsageEntry.objects.count()) == ("completed", 1)
    with pytest.raises(LeaseLostError):
        ledger.finish(ends_now(job))


async def test_an_answer_and_its_end_are_one_write_that_is_not_repeated(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_both = ledger.finish_with
    tries: list[list[Message]] = []

    def lose_connection() -> None:
        if not tries[1:]:
            raise OperationalError("server closed the connection unexpectedly")

    def store_and_lose(*given: Any) -> list[Message]:
        found = store_both(*given)
        tries.append(found)
        transaction.on_commit(lose_connection)
        return found

    monkeypatch.setattr(ledger, "finish_with", store_and_lose)
    monkeypatch.setattr(ledger, "store_frames", None)
    turn = await run(ada, ask())
    assert (turn.state, await UsageEntry.objects.acount()) == ("completed", 1)
    assert [len(found) for found in tries] == [2, 0], "the second try found the first one's end"
    assert await Message.objects.filter(turn=turn).acount() == 2


def test_nothing_is_stored_for_a_turn_of_another_process(ada: User) -> None:
    job = loaded(store(ada, ask()))
    with pytest.raises(LeaseLostError):
        ledger.finish(ends_now(of_another(job)))
    assert Turn.objects.get().state == "running"
    ledger.finish(ends_now(job))
    assert Turn.objects.get().state == "completed", "the twin"


def test_pieces_written_just_before_the_end_are_deleted(ada: User) -> None:
    job = loaded(store(ada, ask()))

    class Pieces:
        @property
        def are_written(self) -> bool:
            TurnPiece.objects.create(turn_id=job.turn.pk, number=1, frame=uuid4(), text="Fo")
            return True

    job.pieces = Pieces()  # type: ignore[assignment]
    with transaction.atomic():
        ledger.finish(ends_now(job))
    assert not TurnPiece.objects.exists()


async def test_an_answer_that_cannot_be_stored_fails_the_turn(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    follow = transcripts.follow

    def refuse(*given: Any, **named: Any) -> Any:
        follow(*given, **named)
        raise DataError("value too long")

    monkeypatch.setattr(transcripts, "follow", refuse)  # the last step of the write
    turn = await run(ada, ask())
    assert (turn.state, turn.error_code) == ("failed", "E-X-INTERNAL")
    assert not await Message.objects.filter(turn=turn).aexists(), "all of the write was undone"


async def test_an_answer_is_kept_where_its_end_is_refused(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **named: Any) -> Any:
        raise DataError("a number is too large")

    monkeypatch.setattr(ledger, "finish", refuse)
    backend.script = answer()
    turn = await run(ada, ask())
    stored = await database_sync_to_async(lambda: list(Message.objects.filter(turn=turn).order_by("position")))()
    assert [message.channel for message in stored] == ["analysis", "final"] and stored[-1].is_complete


async def test_a_lease_lost_right_after_the_end_changes_nothing(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[object] = []
    note = ending.note_end

    def lost(running: RunningTurn, milliseconds: int) -> None:
        ended.append(running)
        leased[0].lost()
        note(running, milliseconds)

    hold = leases.leases.hold
    leased: list[leases.LeasedTurn] = []

    def held(turn_id: UUID, turn: leases.LeasedTurn) -> None:
        leased.append(turn)
        hold(turn_id, turn)

    monkeypatch.setattr(leases.leases, "hold", held)
    monkeypatch.setattr(ending, "note_end", lost)
    backend.script = answer()
    turn = await run(ada, ask())
    assert turn.state == "completed" and len(ended) == 1


# A turn that has ended is freed at once, without the garbage collector, which would visit the objects of all running turns for that.


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_an_ended_turn_is_freed(is_stopped: bool, ada: User, backend: ScriptedBackend, without_collector: None) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *answer("Four.")]
    gc.collect()
    before = {id(each) for each in _parts_of_turns()}
    started = await running.ask(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 20)
    place = TurnPlace(started.turn.pk, PROCESS)
    del started
    turn = [ref(each) for each in _parts_of_turns() if id(each) not in before]
    assert {type(each()) for each in turn} >= {Runner, Pieces, FrameRecorder, ModelFrames, Sampling}, "or this test proves nothing"
    if is_stopped:
        await running.stop(place)
    gate.set()
    await running.settle()
    # Otherwise the writer's thread would still hold its last batch, and the scripted backend the requests.
    await writer.run(lambda: None)
    backend.requests.clear()
    assert [each() for each in turn] == [None] * len(turn)


def _parts_of_turns() -> list[object]:
    """What this process holds of its turns while they run."""
    return [each for each in gc.get_objects() if isinstance(each, (Runner, Pieces, FrameRecorder, Stage, Sampling))]


# The frame recorder: stores and publishes each frame once, streams text without waiting for the database, and hides withdrawn text.


saved = database_sync_to_async(pieces.saved)


async def test_text_streams_while_the_database_is_locked_and_the_turn_ends_once_stored(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "SAVING_SECONDS", 0.1)
    gate = asyncio.Event()
    backend.script = [gate, *answer("Four.")]
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.send("subscribe", conversation=accepted["conversation"])
        await socket.until("chatui:snapshot")
        await asyncio.wait_for(backend.waiting.wait(), 10)
        with write_lock():
            gate.set()
            events = await socket.until("response.delta.flush", timeout=10)
            events += await socket.silence(0.5)
            assert not any(event["type"] in ENDS for event in events), "no end before the answer is stored"
            assert any(event["type"] == "chatui:saving" for event in events), "people see why it takes so long"
            assert not await Message.objects.filter(channel="final").aexists(), "the premise"
        events += await socket.until(*ENDS)
        assert await Message.objects.filter(channel="final").aexists()
    assert "Four." in shown_text(events) and events[-1]["state"] == "completed"


async def test_withdrawn_text_is_hidden_in_the_pieces_of_a_dead_process(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "TICK_SECONDS", 0.05)
    withdrawn, may_continue = asyncio.Event(), asyncio.Event()
    backend.script = [FrameOpened(FINAL), FrameText("SECRET thoughts, "), withdrawn, FrameWithdrawn(), may_continue, *answer()[-1:]]
    turn_id = (await begin(ada, ask())).turn.pk
    async with asyncio.timeout(10):
        while not await saved(turn_id):
            await asyncio.sleep(0.02)
    [(header, text)] = await saved(turn_id)
    assert "final" in header and "SECRET" in text, "the premise: people would see it"
    monkeypatch.setattr(leases, "TICK_SECONDS", 3600.0)
    await asyncio.sleep(0.2)
    withdrawn.set()
    async with asyncio.timeout(10):
        while len(await saved(turn_id)) < 2:  # at once, not when the timer fires
            await asyncio.sleep(0.02)
    await database_sync_to_async(pieces.leave)(turn_id, "", "user")  # simulates a crash: it publishes nothing and lets the lease expire
    monkeypatch.setattr(leases.leases, "keys", list)
    assert len(await database_sync_to_async(sweep.interrupt_abandoned)()) == 1
    [message] = [row async for row in Message.objects.filter(turn=turn_id)]
    assert "SECRET" in message.text and not message.is_visible
    may_continue.set()
    await running.settle()
