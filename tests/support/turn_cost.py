"""Counts what whole turns cost: calls of Python functions by thread, writes, and hand-overs between threads."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import settings

from chatui.database.writer import Writer, writer
from tests.support.cost import Calls
from tests.support.database import only_turns
from tests.support.scripted import ScriptedBackend


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
    """Counts from now on. No model server has tools, as the demo has."""
    # Not ``environment.change``, which calls functions of its own.
    monkeypatch.setattr(settings, "ENVIRONMENT", settings.ENVIRONMENT.model_copy(update={"backend_url": "http://127.0.0.1:9"}))
    await database_sync_to_async(only_turns)(monkeypatch)
    found, loop = Counted(), asyncio.BaseEventLoop
    await writer.run(found.writer.watch_this_thread)
    monkeypatch.setattr(Writer, "post", found.counting("writes", Writer.post))
    monkeypatch.setattr(loop, "call_soon_threadsafe", found.counting("hand_overs", loop.call_soon_threadsafe))
    found.event_loop.watch_this_thread()
    yield found
    sys.setprofile(None)
    await writer.run(sys.setprofile, None)
