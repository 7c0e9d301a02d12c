"""What the relay does by itself; with a real Redis it is tested in ``tests/services``."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from chatui.wire import bus as relay

pytestmark = pytest.mark.asyncio


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
