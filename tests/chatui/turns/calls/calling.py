"""Tools, and scripted calls of them, for tests of the tool loop."""

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.backends.base import EndReason
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.tools.execution import is_cancelled
from chatui.tools.replies import Provenance, failed
from chatui.tools.tool import ToolError
from renderer.errors import Code
from renderer.frames import Header, Terminator
from renderer.ocml import document
from tests.support import offering
from tests.support.scripted import ScriptedBackend, Step, answer, ended, frame
from tests.support.turns import ask, run

LATE = failed(Code.TOOL_TIMEOUT, "late", Provenance("tests"))
RAN: list[str] = []
"""What the tools of these tests did, in order."""


async def fetch(key: str) -> dict[str, str]:
    """Fetches the value of a key."""
    RAN.append(key)
    await asyncio.sleep(0.2 if key == "slow" else 0)
    return {"value": key.upper()}


def fails(key: str = "") -> str:
    """Fails in the requested way."""
    RAN.append(f"fails {key}")
    if key == "explained":
        raise ToolError("There is no such page. Try another name.")
    raise RuntimeError("SECRET words of an exception")


async def hangs() -> str:
    """Never ends."""
    RAN.append("hangs")
    try:
        await asyncio.Event().wait()
    finally:
        RAN.append("hangs: cancelled")
    return ""


STOPPED = threading.Event()


def blocks() -> str:
    """Blocks its thread until the call is cancelled."""
    RAN.append("blocks")
    while not is_cancelled():
        time.sleep(0.01)
    STOPPED.set()
    return "late"


def lists(count: int) -> list[int]:
    """Returns a long list."""
    return list(range(count))


def call(name: str, call_id: str, channel: str = "commentary", **arguments: Any) -> list[Step]:
    header = Header("assistant", channel=channel, recipient=f"functions.{name}", call_id=call_id, constrain="json")
    return [*frame(header, json.dumps(arguments), Terminator.CALL)]


def calls(*steps: Sequence[Step]) -> list[Step]:
    return [*(step for each in steps for step in each), ended(EndReason.TOOL_CALLS)]


async def ran(what: str) -> None:
    """Wait until a tool has recorded ``event``. Tools run in threads of their own."""
    async with asyncio.timeout(5):
        while what not in RAN:
            await asyncio.sleep(0.01)


@database_sync_to_async
def rows_of(turn: Turn) -> list[Message]:
    return list(Message.objects.filter(turn=turn).order_by("position"))


async def replies(turn: Turn) -> dict[str, dict[str, Any]]:
    """The envelope of each reply by call id, in the order in which they were stored."""
    return {row.call_id: json.loads(document.parse_frame(row.text).body) for row in await rows_of(turn) if row.role == "tool"}


async def answered(ada: User, backend: ScriptedBackend, *steps: Sequence[Step]) -> tuple[Turn, dict[str, dict[str, Any]]]:
    """Run a turn whose first sampling makes these calls and whose second sampling answers."""
    backend.script, backend.following = calls(*steps), [answer("Done.")]
    turn = await run(ada, ask())
    return turn, await replies(turn)


@dataclass
class World:
    """Ada, her scripted model, and the tools that it may call."""

    ada: User
    backend: ScriptedBackend
    monkeypatch: pytest.MonkeyPatch

    def offer(self, *functions: Any, **settings: Any) -> None:
        offering.offer(self.monkeypatch, *functions, **settings)

    async def answered(self, *steps: Sequence[Step]) -> tuple[Turn, dict[str, dict[str, Any]]]:
        return await answered(self.ada, self.backend, *steps)
