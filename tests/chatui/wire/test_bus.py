"""The bus: who receives what, what a failing receiver costs the others, and what the relay does by itself.

With a real Redis, the relay is tested in ``tests/services``.
"""

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from chatui.wire import relay
from chatui.wire.bus import PROCESS, Bus, Message, bus, send_from_thread


def recorder() -> tuple[list[tuple[str, object]], Callable[[str, Message], None]]:
    received: list[tuple[str, object]] = []
    return received, lambda group, message: received.append((group, message["n"]))


async def test_a_message_reaches_its_group_before_send_returns_and_nobody_else() -> None:
    received, receive_mine = recorder()
    other, receive_other = recorder()
    bus().join("a", receive_mine)
    bus().join("b", receive_other)
    bus().send("a", {"n": 1})
    assert (received, other) == ([("a", 1)], [])


async def test_who_left_receives_nothing_and_a_group_without_receivers_is_not_heard() -> None:
    received, receive = recorder()
    local = Bus()
    local.join("a", receive)
    assert local.is_heard("a")
    local.leave("a", receive)
    local.leave("never joined", receive)
    local.send("a", {"n": 1})
    assert not received and not local.is_heard("a")


async def test_a_receiver_that_fails_keeps_nobody_else_from_the_message() -> None:
    received, receive = recorder()

    def fail(*_: object) -> None:
        raise RuntimeError

    local = Bus()
    local.join("a", fail)
    local.join("a", receive)
    local.send("a", {"n": 1})
    assert received == [("a", 1)]


async def test_a_receiver_may_leave_while_it_receives() -> None:
    local = Bus()
    seen: list[int] = []

    def once(group: str, message: Message) -> None:
        seen.append(1)
        local.leave(group, once)

    local.join("a", once)
    local.send("a", {})
    local.send("a", {})
    assert seen == [1]


async def test_a_thread_reaches_the_receivers_of_the_loop() -> None:
    received, receive = recorder()
    bus().join("a", receive)
    await asyncio.to_thread(send_from_thread, "a", {"n": 1})
    await asyncio.to_thread(send_from_thread, "a", {"n": 2}, PROCESS)
    await asyncio.to_thread(send_from_thread, "a", {"n": 3}, "another process")
    await asyncio.sleep(0)
    assert received == [("a", 1), ("a", 2)]


async def test_what_is_for_another_process_does_not_stay_here() -> None:
    received, receive = recorder()
    bus().join("a", receive)
    bus().send_to("another process", "a", {"n": 1})
    bus().send_to(PROCESS, "a", {"n": 2})
    assert received == [("a", 2)]


async def test_a_task_ends_though_its_first_cancellation_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "ANSWER_SECONDS", 0.01)

    async def deaf() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    async def broken() -> None:
        raise ConnectionError

    tasks = asyncio.create_task(deaf()), asyncio.create_task(broken())
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await relay.ended(*tasks)
    assert all(task.done() for task in tasks)
