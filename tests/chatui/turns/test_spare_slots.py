"""Spare slots, for low-priority work: they never delay an answer and are never lost."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from chatui.turns.slots import NoSpareSlotError, Slots

pytestmark = pytest.mark.asyncio


def ignore_place(place: int) -> None:
    """A callback that does nothing."""


async def spare(slots: Slots, until: asyncio.Event) -> str:
    try:
        async with slots.spare():
            await until.wait()
            return "done"
    except NoSpareSlotError:
        return "given up"


async def test_an_answer_takes_the_last_slot_at_once() -> None:
    slots, end = Slots(2), asyncio.Event()
    first = asyncio.create_task(spare(slots, end))
    second = asyncio.create_task(spare(slots, end))
    await asyncio.sleep(0)
    async with AsyncExitStack() as answers:
        await answers.enter_async_context(slots.acquire(ignore_place))
        assert await second == "given up" and not first.done()
        await answers.enter_async_context(slots.acquire(ignore_place))
        assert await first == "given up"
        assert await spare(slots, end) == "given up", "there is none while answers need all"
    end.set()
    assert await spare(slots, end) == "done", "and there is one again"


async def test_there_is_no_spare_slot_while_somebody_waits() -> None:
    slots, end = Slots(2, {"students": 1}), asyncio.Event()
    end.set()
    async with slots.acquire(ignore_place, ["students"]):
        waiting = asyncio.create_task(slots.acquire(ignore_place, ["students"]).__aenter__())
        await asyncio.sleep(0)
        assert await spare(slots, end) == "given up"
    await waiting
    assert await spare(slots, end) == "done", "the premise: one of two is free"


async def test_cancellation_by_somebody_else_propagates() -> None:
    slots = Slots(1)
    task = asyncio.create_task(spare(slots, asyncio.Event()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    end = asyncio.Event()
    end.set()
    assert await spare(slots, end) == "done", "its place is free"
