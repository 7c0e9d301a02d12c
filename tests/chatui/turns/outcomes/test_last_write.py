"""The last frames of a turn are stored with its end: all of it or nothing, and once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import DataError, transaction

from chatui.models import Message, Turn, TurnPiece, UsageEntry, User
from chatui.models.turn import TurnState
from chatui.turns import kept_frames, ledger
from chatui.turns.kept_frames import LastFrames
from chatui.turns.outcomes import last_write
from renderer.events import Finished
from renderer.frames import Frame, Terminator
from tests.chatui.conftest import store
from tests.chatui.turns.test_turns import ask, run
from tests.support.scripted import FINAL, ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)

COMPLETED = ledger.Outcome(TurnState.COMPLETED)


def one(job: ledger.Job) -> LastFrames:
    return LastFrames([job.question_id], [(uuid4(), Finished(Frame(FINAL, "Four.", Terminator.RETURN)))])


def test_what_took_effect_unheard_is_not_done_again(ada: User) -> None:
    job = ledger.load(store(ada, ask()).turn)
    last, no_pieces = one(job), lambda: False
    [kept] = last_write.finish(job, COMPLETED, ledger.Account(), no_pieces, last)
    assert kept.pk == last.written[0][0]
    assert last_write.finish(job, COMPLETED, ledger.Account(), no_pieces, last) == ()
    assert (Message.objects.filter(turn=job.turn_id).count(), UsageEntry.objects.count()) == (1, 1)
    with pytest.raises(ledger.LeaseLostError):
        last_write.finish(job, COMPLETED, ledger.Account(), no_pieces, one(job))


def test_nothing_is_stored_of_a_turn_that_another_process_has(ada: User) -> None:
    job = ledger.load(store(ada, ask()).turn)
    with pytest.raises(ledger.LeaseLostError):
        last_write.finish(replace(job, lease_owner="another"), COMPLETED, ledger.Account(), lambda: False, one(job))
    assert Turn.objects.get().state == "running" and not Message.objects.filter(turn=job.turn_id).exists()


def test_pieces_that_came_just_before_the_end_are_deleted(ada: User) -> None:
    job = ledger.load(store(ada, ask()).turn)

    def just_now() -> bool:
        TurnPiece.objects.create(turn_id=job.turn_id, number=1, frame=uuid4(), text="Fo")
        return True

    with transaction.atomic():
        last_write.finish(job, COMPLETED, ledger.Account(), just_now, one(job))
    assert not TurnPiece.objects.exists()


@pytest.mark.asyncio
async def test_an_answer_that_cannot_be_stored_fails_the_turn(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = ledger.keep

    def refuse(job: ledger.Job, parents: Sequence[UUID], written: Sequence[tuple[UUID, Finished]]) -> Any:
        keep(job, parents, written)
        raise DataError("value too long")

    monkeypatch.setattr(ledger, "keep", refuse)
    turn = await run(ada, ask())
    assert (turn.state, turn.error_code) == ("failed", "E-X-INTERNAL")
    assert not await Message.objects.filter(turn=turn).aexists(), "all of the write was undone"


@pytest.mark.asyncio
async def test_an_answer_whose_turn_does_not_end_at_once_is_stored_before(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_frames, "LINGER_SECONDS", 0.0)
    ends: list[object] = []
    finish = last_write.finish

    def noted(*given: Any) -> Any:
        ends.append(given[-1])
        return finish(*given)

    monkeypatch.setattr(last_write, "finish", noted)
    backend.script = answer()
    turn = await run(ada, ask())
    stored = await database_sync_to_async(lambda: list(Message.objects.filter(turn=turn).order_by("position")))()
    assert (turn.state, len(stored), len(ends)) == ("completed", 2, 1)
