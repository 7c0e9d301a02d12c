"""The first words of an answer are sent without delay, whatever was sent just before."""

from __future__ import annotations

import asyncio

import pytest

from chatui.models.user import User
from chatui.turns import publisher, running
from renderer.events import FrameOpened, FrameText
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, answer, frame

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]


async def test_the_first_words_are_sent_at_once_and_the_next_ones_batched(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "FLUSH_SECONDS", 3600.0)  # so that nothing else is sent before the end
    may_continue, ends = asyncio.Event(), asyncio.Event()
    backend.script = [
        *frame(ANALYSIS, "hm"),
        *(FrameOpened(FINAL), FrameText("Four"), may_continue, FrameText(" or"), FrameText(" five"), ends),
        *answer()[-2:],
    ]
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        events = await socket.until("response.delta", timeout=10)
        assert "Four" in events[-1]["html"]
        assert any(event["type"] == "response.created" for event in events), "the premise: something was sent just before"
        may_continue.set()
        assert await socket.silence(0.3) == []
        ends.set()
        assert (await socket.until(*ENDS))[-1]["state"] == "completed"
        await running.settle()
