"""The stored answer of a running turn, which pages of other processes get while Redis is away: nothing in it is hidden."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui import wire
from chatui.live import snapshots
from chatui.models import Message, Turn, User
from chatui.store.turn_pieces import Pieces
from chatui.turns import leases, publisher, running
from chatui.turns.leases import LEASE
from chatui.turns.streams.stored import FRESH, snapshot_of, stored_answer
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from tests.canary.leaks.test_streaming import begin, reached
from tests.canary.listening import assert_allowed, hidden_steps
from tests.canary.markers import Canary
from tests.chatui.conftest import stored
from tests.chatui.turns.test_turns import ask
from tests.support.browser_socket import BrowserSocket, shown_text
from tests.support.scripted import FINAL, PREAMBLE, ScriptedBackend, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

OTHER = "another process"


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "SNAPSHOT_SECONDS", 0.05)
    monkeypatch.setattr(snapshots, "STORED_SECONDS", 0.05)


async def read(turn: str | UUID) -> str:
    """What a page would show, with everything else that it would get."""
    answer = await database_sync_to_async(stored_answer)(UUID(str(turn)))
    if answer is None:
        return ""
    return wire.encode([snapshot_of(answer, await publisher.rendered(answer.frames, pages=answer.pages))])


async def until_read(turn: str | UUID, wanted: str) -> str:
    """Read again until it contains ``wanted``, as the process stores its text once a second."""
    async with asyncio.timeout(20):
        while wanted not in (text := await read(turn)):
            await asyncio.sleep(0.05)
    return text


@pytest.mark.asyncio
async def test_hidden_frames_are_not_in_it_whether_open_or_stored(canary: Canary, ada: User, backend: ScriptedBackend) -> None:
    thinking, middle = asyncio.Event(), asyncio.Event()
    hidden = hidden_steps(canary)
    backend.script = [
        *(*hidden, *frame(PREAMBLE, "I *look* at it."), *hidden_steps(canary)[:3], thinking, *hidden_steps(canary)[3:]),
        *(FrameOpened(FINAL), FrameText("Half of *an"), middle, FrameText(" answer*."), FrameClosed(None)),
    ]
    async with BrowserSocket(ada) as socket:
        turn = (await begin(socket))["turn"]
        await reached(backend)
        await asyncio.sleep(2 * leases.TICK_SECONDS)
        assert await read(turn) == "", "nothing of the turn is replaced before its answer has begun"
        thinking.set()
        await reached(backend)
        text = await until_read(turn, "Half of")
        assert "look" in text and not canary.found(text)
        assert_allowed([text])
        middle.set()
        await running.settle()
    assert await read(turn) == "", "the turn has ended, and is read as any other"


@database_sync_to_async
def turn_of_other(person: User, *events: RawEvent, age: timedelta = timedelta()) -> Turn:
    """A turn that another process runs, which has written these events so far, ``age`` ago."""
    turn = Turn.objects.get(asked_by=person)
    Turn.objects.filter(pk=turn.pk).update(lease_owner=OTHER, lease_until=timezone.now() + LEASE - age)
    pieces, key = Pieces(turn.pk), UUID(int=7)
    for event in events:
        pieces.take(event, key)
        turn.pieces.bulk_create(pieces.rows(), ignore_conflicts=True)
    return turn


@pytest.mark.asyncio
async def test_withdrawn_text_is_not_in_it(canary: Canary, ada: User) -> None:
    await stored(ada, ask(), OTHER)
    marker = canary.plant("withdrawn text")
    turn = await turn_of_other(ada, FrameOpened(FINAL), FrameText(marker), FrameWithdrawn(), FrameText(f"more of {marker}"))
    assert await read(turn.pk) == ""


@pytest.mark.asyncio
async def test_text_of_a_frame_that_was_stored_hidden_is_not_in_it(canary: Canary, ada: User) -> None:
    """The pieces are read just before the frame is stored under the header that hides it."""
    await stored(ada, ask(), OTHER)
    marker = canary.plant("hidden after all")
    turn = await turn_of_other(ada, FrameOpened(FINAL), FrameText(marker))
    assert marker in await read(turn.pk), "the premise"
    question = await Message.objects.aget(pk=turn.question_id)
    hidden = {"turn": turn, "parent": question, "position": question.position + 1, "is_visible": False, "role": "assistant"}
    await Message.objects.acreate(pk=UUID(int=7), conversation_id=turn.conversation_id, channel="analysis", text=marker, **hidden)
    assert await read(turn.pk) == ""


@pytest.mark.asyncio
async def test_text_that_may_be_old_is_not_shown(canary: Canary, ada: User) -> None:
    """Its process may have withdrawn it since, and could not write that."""
    await stored(ada, ask(), OTHER)
    turn = await turn_of_other(ada, FrameOpened(FINAL), FrameText("shown"), age=FRESH / 2)
    assert "shown" in await read(turn.pk)
    await turn_of_other(ada, age=FRESH * 2)
    assert await read(turn.pk) == ""


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
async def test_a_page_without_a_reply_gets_what_is_stored_again_when_there_is_more(ada: User) -> None:
    await stored(ada, ask(), OTHER)
    turn = await turn_of_other(ada, FrameOpened(FINAL), FrameText("One two"))
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(turn.conversation_id))
        first = (await socket.until("chatui:snapshot"))[-1]
        assert first["sequence_number"] == 0 and "One two</p>" in shown_text([first])
        assert await socket.silence(0.5) == [], "nothing is sent twice"
        await turn_of_other(ada, FrameOpened(FINAL), FrameText("One two"), FrameText(" three"))
        assert "One two three</p>" in shown_text([(await socket.until("chatui:snapshot"))[-1]])
        await Turn.objects.filter(pk=turn.pk).aupdate(state="completed")
        assert (await socket.until("chatui:idle"))[-1]["state"] == "completed"


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
async def test_nobody_else_gets_it(ada: User, bela: User) -> None:
    await stored(ada, ask(), OTHER)
    turn = await turn_of_other(ada, FrameOpened(FINAL), FrameText("One two"))
    async with BrowserSocket(bela) as socket:
        await socket.send("subscribe", conversation=str(turn.conversation_id))
        assert (await socket.until("chatui:refused"))[-1]["code"] == "E-X-NOT-FOUND"
        assert await socket.silence(0.5) == []
