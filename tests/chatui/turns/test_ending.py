"""The last frames of a turn are stored together with its end: atomically, and once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import DataError, transaction
from django.utils import timezone

from chatui.models.message import Message
from chatui.models.turn import Turn, TurnPiece, TurnState
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.turns import frame_recorder, ledger
from chatui.turns.ending import End
from chatui.turns.frame_recorder import LastFrames
from chatui.turns.runner import Runner
from renderer.events import Finished
from renderer.frames import Frame, Terminator
from tests.chatui.conftest import store
from tests.chatui.turns.test_turns import ask, run
from tests.support.scripted import FINAL, ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)

COMPLETED = ledger.TurnOutcome(TurnState.COMPLETED)


def end_of(job: ledger.Job, has_pieces: Callable[[], bool] = lambda: False) -> End:
    return End(job, COMPLETED, ledger.TokenAccount(ended_at=timezone.now()), has_pieces)


def one(job: ledger.Job) -> LastFrames:
    return LastFrames([job.question_id], [(uuid4(), Finished(Frame(FINAL, "Four.", Terminator.RETURN)))])


def test_a_commit_whose_confirmation_was_lost_is_not_repeated(ada: User) -> None:
    job = ledger.load(store(ada, ask()).turn)
    last, end = one(job), end_of(job)
    [stored] = end.store(last)
    assert stored.pk == last.written[0][0]
    assert end.store(last) == ()
    assert (Message.objects.filter(turn=job.turn_id).count(), UsageEntry.objects.count()) == (1, 1)
    with pytest.raises(ledger.LeaseLostError):
        end_of(job).store(last)


def test_nothing_is_stored_for_a_turn_of_another_process(ada: User) -> None:
    job = ledger.load(store(ada, ask()).turn)
    with pytest.raises(ledger.LeaseLostError):
        end_of(replace(job, lease_owner="another")).store(one(job))
    assert Turn.objects.get().state == "running" and not Message.objects.filter(turn=job.turn_id).exists()


def test_an_end_without_frames_is_none_of_a_turn_of_another_process(ada: User) -> None:
    job = ledger.load(store(ada, ask()).turn)
    with pytest.raises(ledger.LeaseLostError):
        end_of(replace(job, lease_owner="another")).store(None)
    end = end_of(job)
    end.store(None)
    end.store(None)  # the confirmation of the first commit was lost
    assert Turn.objects.get().state == "completed"


def test_pieces_written_just_before_the_end_are_deleted(ada: User) -> None:
    job = ledger.load(store(ada, ask()).turn)

    def just_now() -> bool:
        TurnPiece.objects.create(turn_id=job.turn_id, number=1, frame=uuid4(), text="Fo")
        return True

    with transaction.atomic():
        end_of(job, just_now).store(one(job))
    assert not TurnPiece.objects.exists()


@pytest.mark.asyncio
async def test_an_answer_that_cannot_be_stored_fails_the_turn(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = ledger.store_frames

    def refuse(job: ledger.Job, parents: Sequence[UUID], written: Sequence[tuple[UUID, Finished]]) -> Any:
        keep(job, parents, written)
        raise DataError("value too long")

    monkeypatch.setattr(ledger, "store_frames", refuse)
    turn = await run(ada, ask())
    assert (turn.state, turn.error_code) == ("failed", "E-X-INTERNAL")
    assert not await Message.objects.filter(turn=turn).aexists(), "all of the write was undone"


@pytest.mark.asyncio
async def test_a_refused_end_stores_none_of_its_frames(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **named: Any) -> Any:
        raise DataError("a number is too large")

    monkeypatch.setattr(ledger, "finish", refuse)
    backend.script = answer()
    turn = await run(ada, ask())
    stored = await database_sync_to_async(lambda: list(Message.objects.filter(turn=turn).order_by("position")))()
    assert [message.channel for message in stored] == ["analysis", "final"] and stored[-1].is_complete


@pytest.mark.asyncio
async def test_a_lease_lost_right_after_the_end_changes_nothing(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[object] = []
    monkeypatch.setattr("chatui.turns.runner.note_end", lambda *given: ended.append(given))
    store_end = Runner._stored_end

    async def lost(runner: Runner, *given: Any) -> Any:
        outcome = await store_end(runner, *given)
        runner._is_lost = True
        return outcome

    monkeypatch.setattr(Runner, "_stored_end", lost)
    backend.script = answer()
    turn = await run(ada, ask())
    assert turn.state == "completed" and len(ended) == 1


@pytest.mark.asyncio
async def test_an_answer_is_stored_first_if_its_turn_does_not_end_at_once(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_recorder, "LINGER_SECONDS", 0.0)
    ends: list[object] = []
    store_end = End.store

    def recorded(end: End, last: LastFrames | None) -> Any:
        ends.append(last)
        return store_end(end, last)

    monkeypatch.setattr(End, "store", recorded)
    backend.script = answer()
    turn = await run(ada, ask())
    stored = await database_sync_to_async(lambda: list(Message.objects.filter(turn=turn).order_by("position")))()
    assert (turn.state, len(stored), len(ends)) == ("completed", 2, 1)
