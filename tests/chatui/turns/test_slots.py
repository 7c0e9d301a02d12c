"""The queue of turns: who waits, in which order, what they are told, and that no slot is ever lost."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from chatui.models import Turn, User
from chatui.turns import slots as module
from chatui.turns.slots import Slots
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.scripted import ANALYSIS, ScriptedBackend, answer, frame

pytestmark = pytest.mark.asyncio


async def hold(slots: Slots, name: str, done: list[str], told: dict[str, list[int]], until: asyncio.Event) -> None:
    async with slots.one(told.setdefault(name, []).append):
        done.append(name)
        await until.wait()


async def test_first_come_first_served_and_each_is_told_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TELL_SECONDS", 0.01)
    slots, done, told = Slots(1), list[str](), dict[str, list[int]]()
    ends = {name: asyncio.Event() for name in "abcd"}
    tasks = []
    for name in "abcd":
        tasks.append(asyncio.create_task(hold(slots, name, done, told, ends[name])))
        await asyncio.sleep(0)
    assert (done, told) == (["a"], {"a": [], "b": [1], "c": [2], "d": [3]})
    for name in "abc":
        ends[name].set()
        await asyncio.sleep(0.03)
    assert done == list("abcd")
    assert told["d"][-1] == 0 and sorted(told["d"], reverse=True) == told["d"], "a place only ever gets better"
    assert set(told["d"]) == {3, 2, 1, 0}
    ends["d"].set()
    await asyncio.gather(*tasks)


async def test_whoever_gives_up_leaves_the_queue() -> None:
    slots, done, told, end = Slots(1), list[str](), dict[str, list[int]](), asyncio.Event()
    first, second, third = (asyncio.create_task(hold(slots, name, done, told, end)) for name in "abc")
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    end.set()
    await asyncio.gather(first, third)
    assert done == ["a", "c"]


async def test_no_slot_is_lost_or_made_whatever_ends_when() -> None:
    slots, running, most, luck = Slots(3), 0, 0, random.Random(7)

    async def one() -> None:
        nonlocal running, most
        async with slots.one(lambda place: None):
            running += 1
            most = max(most, running)
            try:
                await asyncio.sleep(luck.random() / 1000)
            finally:
                running -= 1

    tasks = [asyncio.create_task(one()) for _ in range(300)]
    while not all(task.done() for task in tasks):
        luck.choice(tasks).cancel()
        await asyncio.sleep(0.0003)
    assert (most, running, slots._free, len(slots._queue)) == (3, 0, 3, 0)


@pytest.mark.django_db(transaction=True)
async def test_a_question_that_waits_is_kept_says_its_place_and_can_be_stopped(
    ada: User, bela: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = Slots(1)
    monkeypatch.setattr("chatui.turns.runner.slots", lambda: only)
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "hm"), gate, *answer("Done.")]
    async with BrowserSocket(ada) as first, BrowserSocket(bela) as second, BrowserSocket(bela) as third:
        await begin(first)
        await asyncio.wait_for(backend.waiting.wait(), 5)
        snapshots = [await begin(second), await begin(third)]
        assert [snapshot["place"] for snapshot in snapshots] == [1, 2]
        await second.say("stop", conversation=snapshots[0]["conversation"], turn=snapshots[0]["turn"])
        assert (await second.until(*ENDS))[-1]["state"] == "stopped"
        assert (await third.until("chatui:queued"))[-1]["place"] == 1
        gate.set()
        assert (await first.until(*ENDS))[-1]["state"] == "completed"
        told = await third.until(*ENDS)
        assert [event["place"] for event in told if event["type"] == "chatui:queued"] == [0]
        assert told[-1]["state"] == "completed"
    assert await Turn.objects.filter(state="running").acount() == 0


async def begin(socket: BrowserSocket) -> dict[str, Any]:
    """Ask, and follow. The snapshot, with the conversation."""
    await socket.send_message()
    accepted = (await socket.until("chatui:accepted"))[-1]
    await socket.say("subscribe", conversation=accepted["conversation"])
    return (await socket.until("chatui:snapshot"))[-1] | {"conversation": accepted["conversation"]}
