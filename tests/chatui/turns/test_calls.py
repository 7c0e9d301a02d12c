"""What a turn costs in numbers that are the same on every machine: calls of Python functions, writes, and hand-overs between threads."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from statistics import median
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import settings

from chatui.database import pools
from chatui.database.writer import Writer, writer
from chatui.model_servers import connected
from chatui.models.user import User
from chatui.tools import rules
from chatui.turns import running
from chatui.usage import limits
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.cost import Calls
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)

OF_EVENT_LOOP, OF_WRITER = 4_481, 2_165
"""The calls of a new conversation's turn, without the model server's, which is scripted, and with those of a page of the test."""
WRITES, HAND_OVERS = 2, 2
TOLERANCE = 1.03


class Counted:
    """``event_loop`` and ``writer`` count the calls of these threads."""

    def __init__(self) -> None:
        self.event_loop, self.writer = Calls(with_builtins=True), Calls(with_builtins=True)
        self.writes = self.hand_overs = 0

    @property
    def values(self) -> tuple[int, int, int, int]:
        return self.event_loop.total, self.writer.total, self.writes, self.hand_overs

    def counting(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """``work``, which counts its calls in the attribute ``name``."""

        def counted(*arguments: Any, **named: Any) -> Any:
            setattr(self, name, getattr(self, name) + 1)
            return work(*arguments, **named)

        return counted


@pytest.fixture
async def counted(monkeypatch: pytest.MonkeyPatch, backend: ScriptedBackend) -> AsyncIterator[Counted]:
    await pools.reaper.run(int)  # what an earlier test's process still looks for is over
    # Without the demo, which has tools.
    monkeypatch.setattr(settings, "ENVIRONMENT", settings.ENVIRONMENT.model_copy(update={"backend_url": "http://127.0.0.1:9"}))
    monkeypatch.setattr(connected, "ROWS_SECONDS", float("inf"))
    monkeypatch.setattr(rules, "ROWS_SECONDS", float("inf"))
    await database_sync_to_async(limits.oldest)()
    monkeypatch.setattr(limits, "CACHE_SECONDS", float("inf"))
    monkeypatch.setattr("chatui.turns.leases.TICK_SECONDS", 3600.0)
    backend.script = answer("Four.", thought="")[3:]
    found, loop = Counted(), asyncio.BaseEventLoop
    await writer.run(found.writer.watch_this_thread)
    monkeypatch.setattr(Writer, "post", found.counting("writes", Writer.post))
    monkeypatch.setattr(loop, "call_soon_threadsafe", found.counting("hand_overs", loop.call_soon_threadsafe))
    found.event_loop.watch_this_thread()
    yield found
    sys.setprofile(None)
    await writer.run(sys.setprofile, None)


async def test_a_turn_calls_no_more_functions_and_wakes_no_more_threads_than_it_did(ada: User, counted: Counted) -> None:
    turns = []
    async with BrowserSocket(ada) as socket:
        for _ in range(9):
            before = counted.values
            await socket.send_message()
            await socket.until(*ENDS)
            await running.settle()
            turns.append([after - then for after, then in zip(counted.values, before, strict=True)])
    # In the first two, what is read and compiled once in a process is.
    event_loop, of_writer, writes, hand_overs = map(median, zip(*turns[2:], strict=True))
    assert writes <= WRITES and hand_overs <= HAND_OVERS, turns
    assert event_loop <= OF_EVENT_LOOP * TOLERANCE and of_writer <= OF_WRITER * TOLERANCE, turns
