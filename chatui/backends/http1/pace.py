"""Decides when this process reads its model servers' answers: together at the ticks of one clock, and less often under load.

Reading is what everything else follows: what one read brings is guarded, gated, rendered and sent in one step. A step costs about the same
for one token as for five, so fewer steps are what a process that is short of time can save. Each pass of the event loop costs as well, so
answers that are due within TICK_SECONDS are read in the same pass. The others are read in other ticks: else the last would wait for all.
"""

from __future__ import annotations

import asyncio
import math
import time
from weakref import WeakKeyDictionary

TICK_SECONDS = 0.01
LOOK_SECONDS = 0.5
IDLE_SHARE = 0.2
BUSY_SHARE = 0.4
"""Shares of a core up to which answers are read at the usual pace, and from which on at the slowest."""
SLOWEST = 2.0


class Pace:
    """``rest`` between two reads. There is one for each event loop."""

    def __init__(self) -> None:
        self._looked = time.monotonic()
        self._spent = time.process_time()
        self._factor = 1.0
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}

    def factor(self) -> float:
        """By how much pauses are longer now: 1 to SLOWEST."""
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            spent = time.process_time()
            share = (spent - self._spent) / (now - self._looked)
            self._looked, self._spent = now, spent
            self._factor = 1 + (SLOWEST - 1) * min(1.0, max(0.0, (share - IDLE_SHARE) / (BUSY_SHARE - IDLE_SHARE)))
        return self._factor

    async def rest(self, seconds: float) -> None:
        """Wait for about so long, or longer where the process is busy."""
        if seconds <= TICK_SECONDS:
            await asyncio.sleep(seconds)
            return
        loop = asyncio.get_running_loop()
        tick = math.ceil((loop.time() + seconds * self.factor()) / TICK_SECONDS)
        waiting = self._waiting.get(tick)
        if waiting is None:
            waiting = self._waiting[tick] = []
            loop.call_at(tick * TICK_SECONDS, self._go_on, tick)
        due = loop.create_future()
        waiting.append(due)
        await due

    def _go_on(self, tick: int) -> None:
        for due in self._waiting.pop(tick):
            if not due.done():
                due.set_result(None)


_paces: WeakKeyDictionary[asyncio.AbstractEventLoop, Pace] = WeakKeyDictionary()


def pace() -> Pace:
    """That of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _paces.get(loop)
    if found is None:
        found = _paces[loop] = Pace()
    return found
