"""Reads a running turn's answer as it is stored, once for all sockets of this process that follow it."""

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
class WrittenAnswer:
    """A stored answer, what pages get of it, and when it was written, in seconds of the event loop's clock."""

    answer: stored.StoredAnswer
    snapshot: wire.Snapshot
    written_at: float


_reads: dict[UUID, tuple[float, asyncio.Task[WrittenAnswer | None]]] = {}


async def read_stored(turn_id: UUID) -> WrittenAnswer | None:
    """What is stored of a turn; None if it is not to be shown.

    Raises:
        DatabaseBusyError: the database is busy or away.
    """
    now = asyncio.get_running_loop().time()
    for key, (at, task) in list(_reads.items()):
        if task.done() and now - at > SHARED_SECONDS:
            del _reads[key]
    if turn_id not in _reads:
        task = asyncio.create_task(_read(turn_id))
        task.add_done_callback(_noted)
        _reads[turn_id] = (now, task)
    return await asyncio.shield(_reads[turn_id][1])


async def _read(turn_id: UUID) -> WrittenAnswer | None:
    began = asyncio.get_running_loop().time()
    answer = await pools.commands.run_or_busy(stored.stored_answer, turn_id)
    if answer is None:
        return None
    return WrittenAnswer(answer, await stored.snapshot_of(answer), began - answer.seconds)


def _noted(task: asyncio.Task[WrittenAnswer | None]) -> None:
    """Otherwise asyncio reports an error that nobody waits for any more, because the sockets have closed."""
    if not task.cancelled():
        task.exception()
