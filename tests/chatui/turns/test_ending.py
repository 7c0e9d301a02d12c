"""The end of a turn is stored once, and after its frames."""

import asyncio
import gc
from collections.abc import Iterator
from uuid import UUID, uuid4
from weakref import ref

import pytest
from django.db import transaction
from django.utils import timezone

from chatui.database.writer import writer
from chatui.models.turn import Turn, TurnPiece
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.turns import ending, leases, ledger, running
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.leases import Pieces
from chatui.turns.runner import Runner
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import LeaseLostError, RunningTurn, TokenAccount
from chatui.turns.sampling import Sampling
from chatui.turns.stages import ModelFrames, Stage
from chatui.wire.bus import PROCESS
from tests.chatui.turns.test_turns import of_another
from tests.support.scripted import ScriptedBackend, answer
from tests.support.turns import ask, begin, loaded, run, store

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
    started = await begin(ada, ask())
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
