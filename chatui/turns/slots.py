"""How many answers this process lets be written at once, and the queue of those that wait: first come, first served."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from chatui.env import environment

TELL_SECONDS = 1.0
"""How often those who wait are told their place in the queue."""
AT_ONCE = 100
"""How many are told in one step of the event loop."""

Moved = Callable[[int], None]
"""Called with a place in the queue, from 1; with 0 when the wait is over."""


class Slots:
    """One for each event loop."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._queue: dict[asyncio.Future[None], Moved] = {}
        self._telling: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def one(self, moved: Moved) -> AsyncIterator[None]:
        """A slot for as long as the block lasts. Whoever has to wait is told the place at once, and again when it moved."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(moved)
        try:
            yield
        finally:
            self._give_back()

    async def _wait(self, moved: Moved) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue[mine] = moved
        moved(len(self._queue))
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell_often(), name="places in the queue")
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._give_back()  # the slot came in the same moment
            raise
        finally:
            self._queue.pop(mine, None)
        moved(0)

    def _give_back(self) -> None:
        for waiting in list(self._queue):
            del self._queue[waiting]
            if not waiting.done():
                waiting.set_result(None)
                return
        self._free += 1

    async def _tell_often(self) -> None:
        while self._queue:
            await asyncio.sleep(TELL_SECONDS)
            for place, (waiting, moved) in enumerate(list(self._queue.items()), start=1):
                if not waiting.done():
                    moved(place)
                if place % AT_ONCE == 0:
                    await asyncio.sleep(0)
        self._telling = None


_slots: dict[asyncio.AbstractEventLoop, Slots] = {}


def slots() -> Slots:
    """The slots of the running event loop."""
    loop = asyncio.get_running_loop()
    for ended in [known for known in _slots if known.is_closed()]:
        del _slots[ended]
    return _slots.setdefault(loop, Slots(environment().max_answers_at_once))
