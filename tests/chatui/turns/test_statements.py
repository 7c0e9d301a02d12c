"""The number of SQL statements per turn: few, and as many in a conversation of two thousand messages as in one of ten."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from django.db.backends.utils import CursorWrapper

from chatui.database import pools
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import transcripts
from chatui.tools import rules
from chatui.turns import opening, running
from chatui.usage import limits
from tests.chatui.store.long_conversations import long_conversation
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.cost import cost
from tests.support.scripted import FINAL, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE_FIRST_TOKEN, IN_ALL = 11, 20
"""For any kind of turn, including the start of a transaction, of somebody without limits.

One of them reads which tools are switched off in the conversation, because the demo offers some. Without tools it is not sent."""


class Statements(list[str]):
    """Every statement sent by the product's threads, including transaction control, except those of the lease renewal timer."""

    def since(self, mark: int) -> str:
        """The statements after a mark, for a failing test to show."""
        return "\n".join(statement[:160] for statement in self[mark:])


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Statements:
    async_to_sync(pools.reaper.run)(int)  # what an earlier test's process still looks for is over
    found, execute, executemany = Statements(), CursorWrapper.execute, CursorWrapper.executemany

    def recorded(cursor: CursorWrapper, sql: str, params: Any = None) -> Any:
        found.append(sql)
        return execute(cursor, sql, params)

    def recorded_many(cursor: CursorWrapper, sql: str, params: Any) -> Any:
        found.append(sql)
        return executemany(cursor, sql, params)

    # The admin pages' rows are read every two seconds for all viewers and are not part of a turn. Neither are the usage limits.
    monkeypatch.setattr(connected, "ROWS_SECONDS", float("inf"))
    monkeypatch.setattr(rules, "ROWS_SECONDS", float("inf"))
    limits.oldest()
    monkeypatch.setattr(limits, "CACHE_SECONDS", float("inf"))
    monkeypatch.setattr("chatui.turns.leases.TICK_SECONDS", 3600.0)
    monkeypatch.setattr(CursorWrapper, "execute", recorded)
    monkeypatch.setattr(CursorWrapper, "executemany", recorded_many)
    return found


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
    await running.settle()
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
        backend.script = [*frame(FINAL, "Two and")[:-1], asyncio.Event()]
        backend.waiting.clear()
        await socket.send(client_id=str(uuid4()), **send(accepted["conversation"]))
        cut = (await socket.until("chatui:accepted"))[-1]
        await asyncio.wait_for(backend.waiting.wait(), 20)
        await socket.send("stop", conversation=cut["conversation"], turn=cut["turn"])
        await running.settle()
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
async def test_messages_a_model_cannot_see_are_not_read(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = await database_sync_to_async(long_conversation)(ada, 4_000)
    monkeypatch.setattr(opening, "SEEN_CHARS", 2000)

    @database_sync_to_async
    def compared() -> tuple[int, float]:
        leaf = transcripts.active_leaf(conversation, ada)
        assert leaf is not None
        whole = cost(lambda: transcripts.prompt_messages(leaf.pk, 10_000_000))
        return len(transcripts.prompt_messages(leaf.pk, 2000)), whole / cost(lambda: transcripts.prompt_messages(leaf.pk, 2000))

    count, times_cheaper = await compared()
    assert 20 < count < 100 and times_cheaper > 5
    async with BrowserSocket(ada) as socket:
        await socket.send(client_id=str(uuid4()), **send(conversation.pk))
        await socket.until("chatui:accepted")
        await running.settle()
    frames = backend.requests[0].frames
    assert frames[0].header.role == "user" and len(frames) < 100
    left_out = (await Turn.objects.aget(conversation=conversation, state="completed", model="scripted-model")).turns_left_out
    assert left_out == 2000 + 1 - sum(item.header.role == "user" for item in frames), "people see how much was left out"


async def test_reasoning_before_an_answer_is_not_read_again(ada: User, backend: ScriptedBackend) -> None:
    backend.script = answer("Four.", thought="hidden " * 100)
    async with BrowserSocket(ada) as socket:
        await socket.send(client_id=str(uuid4()), **send(None))
        accepted = (await socket.until("chatui:accepted"))[-1]
        await running.settle()
        backend.script = answer("Eight.", thought="hidden again")
        await socket.send(client_id=str(uuid4()), **send(accepted["conversation"], "And twice that?"))
        await socket.until("chatui:accepted")
        await running.settle()
    last = await Message.objects.order_by("position").alast()
    assert last is not None
    rows = await database_sync_to_async(transcripts.prompt_messages)(last.pk, 1_000_000)
    assert not any("hidden" in row.text for row in rows)
    assert [row.role for row in rows] == ["user", "assistant"] * 2
    conversation = await Conversation.objects.aget()
    whole = await database_sync_to_async(transcripts.branch)(conversation, last)
    assert len(whole) == 6, "the premise: it is stored"
