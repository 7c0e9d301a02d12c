"""This process as one of several: what each does for the turns of others, and what others see of its own."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.database import connections
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import leases, reaping, running
from chatui.turns.asks import AskKind
from chatui.turns.running import TurnPlace
from chatui.wire.bus import PROCESS
from tests.support.turns import ask, store

DEAD = "a process that died"
"""An owner of leases that nobody is."""


def store_as_another(person: User, kind: str = "send", text: str = "What is 2 + 2?", owner: str = DEAD, **fields: Any) -> Turn:
    """The running turn of a question that a process stored which died before it launched it. ``fields``: as in ``Ask``."""
    effort = "" if kind == "continue" else "medium"
    return store(person, ask(AskKind(kind), "" if kind == "continue" else text, effort=effort, **fields), owner).turn


stored_by_another = database_sync_to_async(store_as_another)


async def stored_here(person: User, kind: str = "send", **fields: Any) -> Turn:
    """The same of a question that this process stored, and has not launched."""
    return await stored_by_another(person, kind, owner=PROCESS, **fields)


async def set_lease(turn: Turn, seconds: float) -> None:
    """Let its lease end so many seconds from now."""
    await Turn.objects.filter(pk=turn.pk).aupdate(lease_until=timezone.now() + timedelta(seconds=seconds))


async def wish_of_a_lost_page(turn: Turn) -> None:
    """A page in a process that has died wished that the turn makes way for its message, and nobody takes that back."""
    running.make_way(TurnPlace(turn.pk, PROCESS), "a page", is_wanted=True)


async def reap() -> None:
    """Do once what each process does every ten seconds: end or launch turns that nobody runs any more, erase what is due."""
    await reaping.reap()


@asynccontextmanager
async def reaping_often() -> AsyncIterator[None]:
    """In the block this process does so as often as a served one."""
    reaping.start_reaping()
    try:
        yield
    finally:
        reaping.stop_reaping()


@contextmanager
def database_restarted() -> Iterator[None]:
    """In the block the database server has run for five seconds only, as PostgreSQL says of itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "seconds_since_start", lambda: 5.0)
        yield


async def leave() -> None:
    """End as a process ends that was told to: what it still writes is stored, and its leases are given up."""
    await database_sync_to_async(running.release_turns)()


@contextmanager
def as_another() -> Iterator[None]:
    """In the block this process is another one, which does not know what it runs, and owns none of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases.leases, "keys", list)
        patch.setattr(leases, "OWNER", "another process")
        yield
