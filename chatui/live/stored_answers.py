"""The stored answers of turns in other processes, read and rendered once for all sockets of this process that follow the same turn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from uuid import UUID

from chatui import wire
from chatui.database import pools
from chatui.turns.streams import stored

SHARED_SECONDS = 0.5
"""For how long sockets share what one of them has read."""


@dataclass(frozen=True, slots=True)
class Read:
    """A stored answer: what pages get, and since when its text can only have grown, in seconds of the event loop's clock."""

    snapshot: wire.Snapshot
    written_at: float
    has_answer: bool
    has_withdrawn: bool


_reads: dict[UUID, tuple[float, asyncio.Task[Read | None]]] = {}


async def read(turn_id: UUID) -> Read | None:
    """What is stored of a turn; None if it is not to be shown.

    Raises:
        DatabaseBusyError: the database is busy or away.
    """
    now = asyncio.get_running_loop().time()
    for key, (at, task) in list(_reads.items()):
        if task.done() and now - at > SHARED_SECONDS:
            del _reads[key]
    if turn_id not in _reads:
        _reads[turn_id] = (now, asyncio.create_task(_read(turn_id)))
    return await asyncio.shield(_reads[turn_id][1])


async def _read(turn_id: UUID) -> Read | None:
    began = asyncio.get_running_loop().time()
    answer = await pools.commands.run_or_busy(stored.stored_answer, turn_id)
    if answer is None:
        return None
    return Read(await stored.snapshot_of(answer), began - answer.seconds, answer.has_answer, answer.has_withdrawn)
