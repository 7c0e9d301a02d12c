"""The number of SQL statements per turn: few, and as many in a conversation of two thousand messages as in one of ten."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async

from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from tests.chatui.store.long_conversations import long_conversation
from tests.support import constants
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.database import Statements
from tests.support.database import statements as statements
from tests.support.page import answered, settled
from tests.support.scripted import FINAL, ScriptedBackend, answer, open_frame

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE_FIRST_TOKEN, IN_ALL = 11, 20
"""For any kind of turn, including the start of a transaction, of somebody without limits.

One of them reads which tools are switched off in the conversation, because the demo offers some. Without tools it is not sent."""


async def turn(
    socket: BrowserSocket, backend: ScriptedBackend, statements: Statements, command: dict[str, Any]
) -> tuple[dict[str, Any], int, int]:
    """One turn as a page requests it: its acceptance, and the number of statements until the first token and in total."""
    gate = asyncio.Event()
    backend.script = [gate, *answer("Four.")]
    backend.waiting.clear()
    mark = len(statements)
    await socket.send(client_id=str(uuid4()), **command)
    await asyncio.wait_for(backend.waiting.wait(), 20)
    first = len(statements) - mark
    assert first <= BEFORE_FIRST_TOKEN, statements.since(mark)
    accepted = (await socket.until("chatui:accepted"))[-1]
    gate.set()
    end = (await socket.until(*ENDS))[-1]
    assert "regenerate" in end["row"]["has"], "the page need not fetch the part below the answer"
    await settled()
    everything = len(statements) - mark
    assert everything <= IN_ALL, statements.since(mark)
    return accepted, first, everything


def send(conversation: object, text: str = "What is 2 + 2?") -> dict[str, Any]:
    return {"type": "send", "conversation": conversation and str(conversation), "text": text, "effort": "low"}


async def test_each_kind_of_turn_takes_few_statements(ada: User, backend: ScriptedBackend, statements: Statements) -> None:
    async with BrowserSocket(ada) as socket:
        accepted, *_ = await turn(socket, backend, statements, send(None))
        where = {"conversation": accepted["conversation"], "effort": "low"}
        await turn(socket, backend, statements, send(accepted["conversation"]))
        await turn(socket, backend, statements, {"type": "regenerate", "question": accepted["question"], **where})
        await turn(socket, backend, statements, {"type": "edit", "question": accepted["question"], "text": "And 3 + 3?", **where})
        backend.script = [*open_frame(FINAL, "Two and"), asyncio.Event()]
        backend.waiting.clear()
        await socket.send(client_id=str(uuid4()), **send(accepted["conversation"]))
        cut = (await socket.until("chatui:accepted"))[-1]
        await asyncio.wait_for(backend.waiting.wait(), 20)
        await socket.send("stop", conversation=cut["conversation"], turn=cut["turn"])
        await settled()
        await turn(socket, backend, statements, {"type": "continue", "conversation": cut["conversation"], "turn": cut["turn"]})
    assert await Turn.objects.filter(state="completed").acount() == 5


@pytest.mark.slow
async def test_a_long_conversation_takes_as_many_statements_as_a_short_one(
    ada: User, backend: ScriptedBackend, statements: Statements
) -> None:
    numbers = []
    async with BrowserSocket(ada) as socket:
        accepted, *_ = await turn(socket, backend, statements, send(None))
        shown = (await Conversation.objects.aget(pk=accepted["conversation"])).choice
        for messages in (10, 2_000):
            conversation = await database_sync_to_async(long_conversation)(ada, messages)
            _, *counts = await turn(socket, backend, statements, send(conversation.pk) | {"choice": shown})
            numbers.append(counts)
            assert len(backend.requests[-1].frames) == messages + 1, "all of it fits into what a model may see"
    assert numbers[0] == numbers[1]


@pytest.mark.slow
async def test_of_a_conversation_that_is_too_long_its_end_is_sent_and_people_see_how_much_was_left_out(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await database_sync_to_async(long_conversation)(ada, 4_000)
    constants.change(monkeypatch, seen_chars=2000)
    turn = await answered(ada, conversation=conversation.pk)
    frames = backend.requests[0].frames
    assert frames[0].header.role == "user" and len(frames) < 100
    assert turn.turns_left_out == 2000 + 1 - sum(item.header.role == "user" for item in frames)
