"""A turn whose text takes long to render: other turns continue meanwhile, Stop works, and its end waits only for a limited time."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import publisher, running
from chatui.turns.start import Started
from chatui.turns.streams import rendering
from renderer.events import FrameOpened, FrameText
from tests.chatui.turns.test_turns import ask, begin
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.scripted import FINAL, ScriptedBackend, answer, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

LONG = "- an *item* of a list\n" * 700 + "\nThe end."


class BlockedRenderings:
    """Blocks every rendering until it is released, and signals when one has begun."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.started, self.released = Event(), Event()
        run = rendering.Rendering.run

        def wait_first(work: rendering.Rendering) -> None:
            self.started.set()
            self.released.wait(60)
            run(work)

        patch.setattr(rendering.Rendering, "run", wait_first)

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.started.wait, 30)


async def turn_of(started: Started) -> Turn:
    return await Turn.objects.aget(pk=started.turn.pk)


async def test_other_turns_go_on_while_one_renders_a_long_block(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = BlockedRenderings(monkeypatch)
    try:
        backend.script = [FrameOpened(FINAL), FrameText(LONG), *answer()[-2:]]
        async with BrowserSocket(ada) as first, BrowserSocket(ada) as second:
            await first.send_message()
            await held.has_begun()
            backend.script = answer("Four, at once.")
            await second.send_message()
            assert "Four, at once." in shown_text(await second.until(*ENDS, timeout=30))
            assert "The end." not in "".join(first.raw)
            held.released.set()
            assert "The end." in shown_text(await first.until(*ENDS, timeout=60))
    finally:
        held.released.set()
    await running.settle()
    assert {turn.state async for turn in Turn.objects.all()} == {"completed"}


async def test_stop_ends_the_request_during_a_long_rendering(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    held, gate = BlockedRenderings(monkeypatch), asyncio.Event()
    monkeypatch.setattr(publisher.Publisher, "is_watched", True)
    backend.script = [FrameOpened(FINAL), FrameText(LONG), gate]
    try:
        started = await begin(ada, ask())
        await held.has_begun()
        await asyncio.wait_for(backend.waiting.wait(), 30)
        await running.stop(running.TurnPlace(started.turn.pk, started.turn.lease_owner))
        async with asyncio.timeout(30):
            while not backend.closed:
                await asyncio.sleep(0)
        assert (await turn_of(started)).state == "running", "its end waits for its text"
    finally:
        held.released.set()
    await asyncio.wait_for(running.settle(), 60)
    assert (await turn_of(started)).state == "stopped"


async def test_a_rendering_that_never_returns_does_not_block_the_end_of_the_turn(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "CATCH_UP_SECONDS", 0.05)
    monkeypatch.setattr(publisher.Publisher, "is_watched", True)
    held = BlockedRenderings(monkeypatch)
    try:
        backend.script = [*frame(FINAL, LONG), *answer()[-1:]]
        started = await begin(ada, ask())
        await held.has_begun()
        await asyncio.wait_for(running.settle(), 60)
        assert (await turn_of(started)).state == "completed"
    finally:
        held.released.set()
