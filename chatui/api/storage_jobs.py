"""Reads and changes what is stored for programs: a few jobs of one person's programs at once, so that others wait for none of them.

A conversation of a program may have ten thousand messages, and a program may ask for it hundreds of times a minute. All pages and programs
share the threads that read the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import ParamSpec, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from chatui.accounts.key_admission import LiveKey
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE = 2
"""How many jobs of one person's programs a process does at once."""
PATIENCE = 10.0
"""How long a job waits for those before it, in seconds."""

_free: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
"""By the key and by the person, as long as they have a job."""


async def run(key: LiveKey, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What ``work`` returns, run in a thread as one of the jobs of the key's owner, in the order of the requests. Jobs of one key
    wait for each other: those of another key stand behind no more than a few of them.

    Raises:
        DatabaseBusyError: too many jobs wait before it; or as ``pools.Pool.run``.
    """
    async with AsyncExitStack() as held:
        try:
            async with asyncio.timeout(PATIENCE):
                # The key's own first: so no more than its few stand in the line of the person, before those of their other keys.
                for each in (key.id, key.owner.pk):
                    await held.enter_async_context(_free.setdefault(each, asyncio.Semaphore(AT_ONCE)))
        except TimeoutError:
            raise DatabaseBusyError from None
        return await pools.commands.run(work, *arguments, **named)
