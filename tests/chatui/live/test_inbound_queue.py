"""The inbound queue of a socket: messages behind a slow command are bounded, and closed sockets are no longer counted."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any
from uuid import uuid4

import pytest

from chatui.live import consumer
from chatui.live.page_socket import CHARS_A_COMMAND, COMMANDS_BURST, TOO_FAST, InboundQueue
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.turns import running
from chatui.turns.start import Ask, Kind
from tests.chatui.database.locks import needs_sqlite, write_lock
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.asyncio


def sender(*texts: str) -> Any:
    messages = iter([{"type": "websocket.receive", "text": text} for text in texts])

    async def receive() -> dict[str, Any]:
        for message in messages:
            return message
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    return receive


def is_queued(text: str) -> bool:
    return False


async def take_all(queue: InboundQueue) -> list[str]:
    found = []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            while True:
                found.append((await queue.next())["text"])
    queue.stop()
    return found


async def test_a_flood_becomes_one_message_and_the_rest_is_dropped() -> None:
    queue = InboundQueue(sender(*["{}"] * 5000), is_queued)
    assert await take_all(queue) == ["{}"] * int(COMMANDS_BURST) + [TOO_FAST]


async def test_a_long_message_counts_as_several() -> None:
    queue = InboundQueue(sender(*["x" * CHARS_A_COMMAND * 4] * 50), is_queued)
    assert len(await take_all(queue)) <= COMMANDS_BURST / 4


@pytest.mark.django_db(transaction=True)
async def test_commands_behind_a_slow_one_are_counted_on_arrival(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, tried = asyncio.Event(), 0

    async def slow(*_: object) -> None:
        nonlocal tried
        tried += 1
        await gate.wait()
        raise NotFoundError

    monkeypatch.setattr(consumer.ChatConsumer, "_run_command", slow)
    async with BrowserSocket(ada) as socket:
        for _ in range(300):
            await socket.send_raw(json.dumps({"type": "subscribe", "conversation": "x" * 1000}))
        await asyncio.sleep(0.2)
        gate.set()
        events = await socket.until("closed")
    assert events[-2]["code"] == "E-X-RATE" and tried <= COMMANDS_BURST + 20, "few more than the burst"


@needs_sqlite
@pytest.mark.django_db(transaction=True)
async def test_the_connection_is_confirmed_while_a_question_waits_for_the_database(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = answer("Four.")
    monkeypatch.setattr(running, "ASK_PATIENCE", 2.0)
    async with BrowserSocket(ada) as socket:
        with write_lock():
            await socket.send_message()
            await socket.send(type="pong", number=0)
            for _ in range(3):
                await socket.send(type="probe")
                assert [event["type"] for event in await socket.until("chatui:alive", "chatui:refused")] == ["chatui:alive"]
            refused = (await socket.until("chatui:refused", "chatui:accepted"))[-1]
            assert refused["code"] == "E-X-SERVER-BUSY"
        await socket.send_message()
        await socket.until(*ENDS)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_page_that_caught_up_while_it_opens_another_conversation_stays_in_that_one(
    is_refused: bool, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [await Conversation.objects.acreate(owner=ada, title=title) for title in ("first", "second")]
    run_command, sockets = consumer.ChatConsumer._run_command, list[consumer.ChatConsumer]()
    arrived, gate = asyncio.Event(), asyncio.Event()

    async def slow(socket: Any, command: Any, argument: Any) -> Any:
        sockets.append(socket)
        found = await run_command(socket, command, argument)
        if len(sockets) == 2:
            arrived.set()
            await gate.wait()
            if is_refused:
                raise NotFoundError
        return found

    monkeypatch.setattr(consumer.ChatConsumer, "_run_command", slow)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(first.pk))
        await socket.until("chatui:idle")
        sockets[0]._caught_up()
        await arrived.wait()
        await socket.send("subscribe", conversation=str(second.pk))
        assert (await socket.until("chatui:idle"))[-1]["conversation"] == str(second.pk)
        gate.set()
        assert await socket.silence(0.3) == []
        assert [each.conversation_id for each in sockets[0]._followed.values()] == [second.pk]


@needs_sqlite
@pytest.mark.django_db(transaction=True)
async def test_a_refusal_that_nobody_waits_for_is_no_error(
    ada: User, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "ASK_PATIENCE", 0.3)
    known = asyncio.all_tasks()
    with write_lock():
        asking = asyncio.create_task(running.ask(ada, Ask(kind=Kind.SEND, client_id=uuid4(), effort="low", text="Anybody?")))
        await asyncio.sleep(0.05)
        asking.cancel()
        others = asyncio.all_tasks() - known
        done, _ = await asyncio.wait(others, timeout=20)
        assert len(done) == len(others)
    del asking, others, done
    gc.collect()
    assert "never retrieved" not in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", ["the handler fails", "the task is cancelled"])
async def test_a_closed_socket_is_no_longer_counted(fault: str, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise asyncio.CancelledError if fault == "the task is cancelled" else BaseException("out of the blue")

    monkeypatch.setattr(consumer.ChatConsumer, "receive", broken)
    socket = BrowserSocket(ada)
    await socket.__aenter__()
    assert sum(consumer._open_sockets.values()) == 1, "the premise"
    await socket.send_raw("{}")
    with pytest.raises(BaseException, match=r".*"):
        await socket._communicator.wait(timeout=5)
    assert not consumer._open_sockets


@pytest.mark.django_db(transaction=True)
async def test_many_commands_over_the_limit_close_the_socket_once(ada: User) -> None:
    async with BrowserSocket(ada) as socket:
        for _ in range(200):
            await socket.send_raw("{}")
        events = await socket.until("closed")
        assert [event.get("code") for event in events].count("E-X-RATE") == 1
    assert not consumer._open_sockets
