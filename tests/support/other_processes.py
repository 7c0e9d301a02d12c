"""This process as one of several: what each does for the turns of others, and what others see of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from channels.db import database_sync_to_async

from chatui.turns import leases, reaping, running

DEAD = "a process that died"
"""An owner of leases that nobody is."""


async def reap() -> None:
    """Do once what each process does every ten seconds: end or launch turns that nobody runs any more, erase what is due."""
    await reaping.reap()


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
