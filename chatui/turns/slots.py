"""Limits how many answers this process writes at once, in total and for the members of a group, and queues the rest.

First come, first served, except that a full group does not block the members of other groups.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from chatui import measures
from chatui.env import environment

UPDATE_SECONDS = 1.0
"""How often waiting turns are sent their position in the queue."""
AT_ONCE = 100
"""How many turns are sent their position in one step of the event loop."""

PositionChanged = Callable[[int], None]
"""Called with the position in the queue, counted from 1, and with 0 when the wait is over."""


class NoSpareSlotError(Exception):
    """All slots are needed for answers."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A waiting turn. ``groups``: those of its groups that have a limit. ``since``: when it began to wait, in seconds of the monotonic
    clock. ``place``: the position that it was last sent."""

    groups: frozenset[str]
    on_position: PositionChanged
    admitted: asyncio.Future[None]
    since: float
    place: int = sys.maxsize


class Slots:
    """The slots of one event loop. ``is_closed``: nobody is admitted any more."""

    def __init__(self, most: int, by_group: Mapping[str, int] | None = None) -> None:
        """``most``: the limit for all answers. ``by_group``: the limit for the members of each group."""
        self._free = most
        self.is_closed = False
        self._free_by_group = dict(by_group or {})
        self._queue: dict[_Waiting, None] = {}
        self._counts: Counter[frozenset[str]] = Counter()
        self._updating: asyncio.Task[None] | None = None
        self._spare: dict[asyncio.Task[Any], None] = {}

    def close(self) -> None:
        """Admit nobody from now on: the process ends. Turns that wait are launched by another, or by this one after its restart."""
        self.is_closed = True

    def has_room(self, turns: int) -> bool:
        """Whether so many more turns would get a slot at once, if none of their groups is full."""
        return not self._queue and self._open >= turns

    @property
    def _open(self) -> int:
        return 0 if self.is_closed else self._free

    @contextlib.asynccontextmanager
    async def acquire(self, on_position: PositionChanged, groups: Iterable[str] = (), waited: float = 0.0) -> AsyncIterator[None]:
        """Hold a slot for the duration of the block. If it must wait, ``on_position`` gets the position at once, and again when it changes.

        ``groups``: those that the person is in. The answer counts toward each of them that has a limit. ``waited``: for how many seconds it
        has already waited in another process; it goes ahead of those that have waited for less.
        """
        begun_at = time.monotonic()
        limited = self._free_by_group.keys() & set(groups)
        own = frozenset(limited)
        if self._open and not self._is_full(own) and not any(own & others for others in self._counts):
            self._take(own)
        else:
            await self._wait(own, on_position, begun_at - waited)
        measures.QUEUE_SECONDS.observe(time.monotonic() - begun_at)
        try:
            yield
        finally:
            self._give_back(own)

    @contextlib.asynccontextmanager
    async def spare(self) -> AsyncIterator[None]:
        """Hold a slot for low-priority work until the block ends or an answer needs the slot.

        Raises:
            NoSpareSlotError: no slot is free, or an answer took this one, in which case the block is cancelled.
        """
        task = asyncio.current_task()
        if task is None or self._queue or self._open <= len(self._spare):
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

    async def _wait(self, own: frozenset[str], on_position: PositionChanged, since: float) -> None:
        waiting = _Waiting(own, on_position, asyncio.get_running_loop().create_future(), since)
        self._join(waiting)
        if self._open and not self._is_full(own):
            self._admit()  # its groups have room for it, and for their members that are already waiting
        if not waiting.admitted.done():
            on_position(waiting.place)
            if self._updating is None:
                self._updating = asyncio.create_task(self._send_positions(), name="places in the queue")
        try:
            await waiting.admitted
        except asyncio.CancelledError:
            if waiting.admitted.done() and not waiting.admitted.cancelled():
                self._give_back(own)  # it was admitted at the same moment
            else:
                self._leave(waiting)
                self._admit()  # the slots that were reserved for it are free
            raise
        on_position(0)

    def _join(self, waiting: _Waiting) -> None:
        later: list[_Waiting] = []
        for other in reversed(self._queue):
            if other.since <= waiting.since:
                break
            later.append(other)
        ahead = self._counts - Counter(other.groups for other in later)
        waiting.place = self._place_behind(ahead, waiting.groups)
        for moved in (waiting, *reversed(later)):
            self._queue.pop(moved, None)
            self._queue[moved] = None
        self._counts[waiting.groups] += 1

    def _take(self, groups: frozenset[str]) -> None:
        self._free -= 1
        for group in groups:
            self._free_by_group[group] -= 1
        while self._free < len(self._spare):
            self._spare.popitem()[0].cancel()

    def _give_back(self, groups: frozenset[str]) -> None:
        self._free += 1
        for group in groups:
            self._free_by_group[group] += 1
        self._admit()

    def _leave(self, waiting: _Waiting) -> None:
        if waiting in self._queue:
            del self._queue[waiting]
            self._counts -= Counter([waiting.groups])

    def _admit(self) -> None:
        """Admits every turn that can start, in queue order.

        A turn that waits for one of its groups reserves a slot in the others; otherwise later turns could keep taking those.
        """
        if not self._open or not self._queue:
            return
        left = dict(self._free_by_group)
        for waiting in list(self._queue):
            if waiting.admitted.done():
                continue  # cancelled; ``_wait`` removes it
            if all(left[group] > 0 for group in waiting.groups):
                self._leave(waiting)
                self._take(waiting.groups)
                waiting.admitted.set_result(None)
            for group in waiting.groups:
                left[group] -= 1
            if not self._free:
                return

    def _is_full(self, groups: Iterable[str]) -> bool:
        return any(self._free_by_group[group] <= 0 for group in groups)

    def _place_behind(self, ahead: Mapping[frozenset[str], int], own: frozenset[str]) -> int:
        """The position of a turn in these groups. Turns that wait for a full group that it is not in do not count."""
        return 1 + sum(count for groups, count in ahead.items() if groups & own or not self._is_full(groups))

    async def _send_positions(self) -> None:
        while self._queue:
            await asyncio.sleep(UPDATE_SECONDS)
            ahead: Counter[frozenset[str]] = Counter()
            queue = list(self._queue)
            for start in range(0, len(queue), AT_ONCE):
                self._send_batch(queue[start : start + AT_ONCE], ahead)
                await asyncio.sleep(0)
        self._updating = None

    def _send_batch(self, some: Iterable[_Waiting], ahead: Counter[frozenset[str]]) -> None:
        for waiting in some:
            # Never a worse position than before: a turn ahead of it whose group was full may count again.
            waiting.place = min(waiting.place, self._place_behind(ahead, waiting.groups))
            ahead[waiting.groups] += 1
            if not waiting.admitted.done():
                waiting.on_position(waiting.place)


_slots: dict[asyncio.AbstractEventLoop, Slots] = {}


def slots() -> Slots:
    """The slots of the running event loop."""
    loop = asyncio.get_running_loop()
    for ended in [known for known in _slots if known.is_closed()]:
        del _slots[ended]
    env = environment()
    return _slots.setdefault(loop, Slots(env.max_answers_at_once, env.group_answers_at_once))
