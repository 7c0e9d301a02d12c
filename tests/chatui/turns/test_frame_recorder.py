"""The frame recorder: stores and publishes each frame once, streams text without waiting for the database, and hides withdrawn text."""

from __future__ import annotations

import asyncio

import pytest
from channels.db import database_sync_to_async

from chatui.models.message import Message
from chatui.models.user import User
from chatui.turns import leases, publisher, running, sweep
from renderer.events import FrameOpened, FrameText, FrameWithdrawn
from tests.chatui.database.locks import write_lock
from tests.chatui.store import pieces
from tests.chatui.turns.test_turns import ask, begin
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.scripted import FINAL, ScriptedBackend, answer

saved = database_sync_to_async(pieces.saved)

pytestmark = pytest.mark.django_db(transaction=True)


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
