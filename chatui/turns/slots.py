"""Limits how many answers this process writes at once, in total and for the members of a group, and queues the rest.

First come, first served; but whoever waits for a place of their group keeps nobody of another group waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from chatui import measures
from chatui.env import environment

TELL_SECONDS = 1.0
"""How often waiting turns are sent their position in the queue."""
AT_ONCE = 100
"""How many are sent theirs in one step of the event loop."""

Moved = Callable[[int], None]
"""Called with a place in the queue, from 1; with 0 when the wait is over."""


class NoSpareSlotError(Exception):
    """Answers need all slots."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """One that waits. ``groups``: those of its groups that have a limit. ``place``: the position that it was sent last."""

    groups: frozenset[str]
    moved: Moved
    admitted: asyncio.Future[None]
    place: int


class Slots:
    """One for each event loop."""

    def __init__(self, most: int, by_group: Mapping[str, int] | None = None) -> None:
        """``most`` answers in all, and ``by_group`` so many of the members of each group."""
        self._free = most
        self._free_in = dict(by_group or {})
        self._queue: dict[_Waiting, None] = {}
        self._counts: Counter[frozenset[str]] = Counter()
        self._telling: asyncio.Task[None] | None = None
        self._spare: dict[asyncio.Task[Any], None] = {}

    @contextlib.asynccontextmanager
    async def one(self, moved: Moved, groups: Iterable[str] = ()) -> AsyncIterator[None]:
        """A slot for as long as the block lasts. One that has to wait is sent its position at once, and again when it changes.

        ``groups``: those that the person is in. An answer counts in each of them that has a limit.
        """
        begun_at = time.monotonic()
        limited = self._free_in.keys() & set(groups)
        mine = frozenset(limited)
        if self._free and not self._is_full(mine) and not any(mine & others for others in self._counts):
            self._take(mine)
        else:
            await self._wait(mine, moved)
        measures.QUEUE_SECONDS.observe(time.monotonic() - begun_at)
        try:
            yield
        finally:
            self._give_back(mine)

    @contextlib.asynccontextmanager
    async def spare(self) -> AsyncIterator[None]:
        """A place for what matters less than any answer, for as long as the block lasts and no answer needs it.

        Raises:
            NoSpareSlotError: there is none, or an answer has taken it: then the block is cancelled.
        """
        task = asyncio.current_task()
        if task is None or self._queue or self._free <= len(self._spare):
            raise NoSpareSlotError
        self._spare[task] = None
        try:
            yield
        except asyncio.CancelledError:
            if task in self._spare:
                raise
            task.uncancel()
            raise NoSpareSlotError from None
        finally:
            self._spare.pop(task, None)

    async def _wait(self, mine: frozenset[str], moved: Moved) -> None:
        waiting = _Waiting(mine, moved, asyncio.get_running_loop().create_future(), self._place_behind(self._counts, mine))
        self._queue[waiting] = None
        self._counts[mine] += 1
        if self._free and not self._is_full(mine):
            self._admit()  # its groups have room for it, and for those of them who wait already
        if not waiting.admitted.done():
            moved(waiting.place)
            if self._telling is None:
                self._telling = asyncio.create_task(self._tell_often(), name="places in the queue")
        try:
            await waiting.admitted
        except asyncio.CancelledError:
            if waiting.admitted.done() and not waiting.admitted.cancelled():
                self._give_back(mine)  # the slot came in the same moment
            else:
                self._leave(waiting)
                self._admit()  # what was reserved for it is free
            raise
        moved(0)

    def _take(self, groups: frozenset[str]) -> None:
        self._free -= 1
        for group in groups:
            self._free_in[group] -= 1
        while self._free < len(self._spare):
            self._spare.popitem()[0].cancel()

    def _give_back(self, groups: frozenset[str]) -> None:
        self._free += 1
        for group in groups:
            self._free_in[group] += 1
        self._admit()

    def _leave(self, waiting: _Waiting) -> None:
        if waiting in self._queue:
            del self._queue[waiting]
            self._counts -= Counter([waiting.groups])

    def _admit(self) -> None:
        """Admits all that can begin, in the order of the queue.

        One that waits for one of two groups reserves its slot in the other: else later ones could take it again and again.
        """
        if not self._free or not self._queue:
            return
        left = dict(self._free_in)
        for waiting in list(self._queue):
            if waiting.admitted.done():
                continue  # cancelled; it leaves by itself
            if all(left[group] > 0 for group in waiting.groups):
                self._leave(waiting)
                self._take(waiting.groups)
                waiting.admitted.set_result(None)
            for group in waiting.groups:
                left[group] -= 1
            if not self._free:
                return

    def _is_full(self, groups: Iterable[str]) -> bool:
        return any(self._free_in[group] <= 0 for group in groups)

    def _place_behind(self, ahead: Mapping[frozenset[str], int], mine: frozenset[str]) -> int:
        """The place of somebody in these groups: not counted are those who wait for a group that is not theirs."""
        return 1 + sum(count for groups, count in ahead.items() if groups & mine or not self._is_full(groups))

    async def _tell_often(self) -> None:
        while self._queue:
            await asyncio.sleep(TELL_SECONDS)
            ahead: Counter[frozenset[str]] = Counter()
            queue = list(self._queue)
            for start in range(0, len(queue), AT_ONCE):
                self._tell(queue[start : start + AT_ONCE], ahead)
                await asyncio.sleep(0)
        self._telling = None

    def _tell(self, some: Iterable[_Waiting], ahead: Counter[frozenset[str]]) -> None:
        for waiting in some:
            # Never a worse place than before: somebody ahead whose group was full may count again.
            waiting.place = min(waiting.place, self._place_behind(ahead, waiting.groups))
            ahead[waiting.groups] += 1
            if not waiting.admitted.done():
                waiting.moved(waiting.place)


_slots: dict[asyncio.AbstractEventLoop, Slots] = {}


def slots() -> Slots:
    """The slots of the running event loop."""
    loop = asyncio.get_running_loop()
    for ended in [known for known in _slots if known.is_closed()]:
        del _slots[ended]
    env = environment()
    return _slots.setdefault(loop, Slots(env.max_answers_at_once, env.group_answers_at_once))
