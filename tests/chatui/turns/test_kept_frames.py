"""A frame is kept before people see it as closed, and what is withdrawn is out of the checkpoint at once."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from channels.db import database_sync_to_async

from chatui.models import Message, Turn, User
from chatui.permissions.access import NotFoundError
from chatui.turns import ledger, running
from chatui.turns.publisher import Publisher
from chatui.turns.start import Ask, Kind, start
from renderer.events import Finished, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frames import Terminator
from tests.chatui.turns.test_turns import ask, begin, run
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, answer, ended, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]


async def test_each_event_is_published_once_and_a_frames_end_only_when_its_row_is_there(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    keep, take = ledger.keep, Publisher.take

    def noted_keep(job: ledger.Job, parent_id: UUID, key: UUID, finished: Finished) -> None:
        keep(job, parent_id, key, finished)
        happened.append("kept")

    def noted_take(publisher: Publisher, event: RawEvent, key: UUID) -> None:
        happened.append(type(event).__name__)
        take(publisher, event, key)

    monkeypatch.setattr(ledger, "keep", noted_keep)
    monkeypatch.setattr(Publisher, "take", noted_take)
    backend.script = [*frame(ANALYSIS, "hm"), *frame(FINAL, "Four.", Terminator.RETURN), ended()]
    await run(ada, ask())
    assert happened == ["FrameOpened", "FrameText", "kept", "FrameClosed"] * 2


async def test_what_was_withdrawn_is_in_no_checkpoint_that_a_dead_process_leaves(ada: User, backend: ScriptedBackend) -> None:
    withdrawn, may_go_on = asyncio.Event(), asyncio.Event()
    backend.script = [FrameOpened(FINAL), FrameText("SECRET thoughts, "), withdrawn, FrameWithdrawn(), may_go_on, *answer()[-1:]]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 10)
    # As the clock does now and then: what the open frame holds so far is saved, and would be shown if the process died.
    runner = running._runners[started.turn.pk][0]
    await database_sync_to_async(ledger.renew)(runner._job, runner._checkpoint())
    assert "SECRET" in (await Turn.objects.aget(pk=started.turn.pk)).checkpoint, "the premise"
    assert "final" in (await Turn.objects.aget(pk=started.turn.pk)).checkpoint, "the premise: people would see it"
    backend.waiting.clear()
    withdrawn.set()
    await asyncio.wait_for(backend.waiting.wait(), 10)
    checkpoint = (await Turn.objects.aget(pk=started.turn.pk)).checkpoint
    assert "final" not in checkpoint and ("SECRET" not in checkpoint or "analysis" in checkpoint)
    may_go_on.set()
    await running.settle()


async def test_an_answer_can_neither_be_edited_nor_asked_anew_as_if_it_were_a_question(ada: User, backend: ScriptedBackend) -> None:
    turn = await run(ada, ask())
    said = await Message.objects.aget(turn=turn, channel="final")
    assert said.is_visible, "the premise"
    for kind in (Kind.EDIT, Kind.REGENERATE):
        wanted = Ask(kind, turn.pk, "low", turn.conversation_id, question=said.pk, text="mine" if kind is Kind.EDIT else "")
        with pytest.raises(NotFoundError):
            await database_sync_to_async(start)(ada, wanted, running.LEASE_OWNER)
    assert await Turn.objects.acount() == 1
