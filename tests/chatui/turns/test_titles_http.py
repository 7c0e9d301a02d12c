"""Titles over real HTTP: read from the answer channel alone in every wire format, and requested from the real llama.cpp server, too."""

import asyncio
from typing import Any

import pytest

from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from tests.chatui.backends.formats import SECRET, Format, format_of
from tests.chatui.backends.wire import posts
from tests.llama.fixture import llama_server as llama_server
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.environment import change
from tests.support.page import settled
from tests.support.scripted import connect
from tests.support.several import closing as closing
from tests.support.several import configure as configure
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]

QUESTION = "How do I get to work fastest when it rains?"
TITLE = "Cycling to work in the rain"


@pytest.fixture(params=["chat", "responses", "harmony-vllm"])
def of(request: pytest.FixtureRequest, vocabulary: Any) -> Format:
    return format_of(vocabulary, request.param)


@pytest.mark.parametrize(
    ("reply", "is_title"),
    [(f'"{TITLE}"', True), ("<think>Cycling secrets</think>", False), ("The user asks about rain", False)],
    ids=["title", "tags", "reasoning"],
)
async def test_a_title_is_read_from_the_answer_only(
    reply: str, is_title: bool, ada: User, of: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"titles": True, "instructions": "HIDDEN-ORDER"})
    requests = []

    async def answer(writer: asyncio.StreamWriter) -> None:
        requests.append(1)
        writer.write(of.thinks_and_says("Take the bicycle." if len(requests) == 1 else reply))
        await writer.drain()

    async with of.playing(answer, model="stub", separates="proved") as (server, backend):
        connect(monkeypatch, backend)
        async with BrowserSocket(ada) as socket:
            await socket.send_message(QUESTION)
            await socket.until(*ENDS)
            await settled()
            events = await socket.silence()
            assert [event["title"] for event in events if event["type"] == "chatui:title"] == ([TITLE] if is_title else [])
            assert SECRET not in "".join(socket.raw)
    assert len(requests) == 2, "the premise: a title was requested"
    sent = of.sent(posts(server)[1])
    assert "You name a conversation" in sent and QUESTION in sent and "Take the bicycle." in sent
    assert SECRET not in sent and "HIDDEN-ORDER" not in sent
    assert (await Conversation.objects.aget()).title == (TITLE if is_title else QUESTION)
    assert (await Turn.objects.aget()).state == "completed"
