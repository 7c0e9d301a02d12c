"""Limits how many answers this process writes at once: in total, for the members of a group, for a person's programs. Queues the rest.

First come, first served, except that a full group does not block the members of other groups. Programs come after all people, and for a
limited time; among them, the next answer is for the key that has the fewest, so that none waits for all that another has asked.
"""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import math
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextvars import Context
from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from uuid import UUID

from chatui.env import environment
from chatui.observability import measures

UPDATE_SECONDS = 1.0
"""How often waiting turns are sent their position in the queue."""
AT_ONCE = 100
"""How many turns are sent their position in one step of the event loop."""

PositionChanged = Callable[[int], None]
"""Called with the position in the queue, counted from 1, and with 0 when the wait is over."""


class NoSpareSlotError(Exception):
    """All slots are needed for answers."""


class QueueFullError(Exception):
    """A program may not wait, or has waited too long. ``seconds``: after which it may ask again: what waits now should be done by then."""

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """For a program's answer: how many may be written at once for all keys of its ``owner``, and with its own ``key`` (None: no limit of
    its own), and how many seconds it may wait."""

    owner: UUID
    at_once: int
    key: UUID | None = None
    key_at_once: int | None = None
    seconds: float = 120.0


FIRST_GUESS = 10.0
"""How many seconds an answer is expected to take before one was measured."""
LONGEST_ESTIMATE = 60
"""The most seconds that a refused program is told to wait: client libraries take a longer time for a mistake."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A waiting turn."""

    groups: frozenset[str]
    """Those of its groups that have a limit."""
    on_position: PositionChanged
    admitted: asyncio.Future[None]
    since: float
    """When it began to wait, in seconds of the monotonic clock."""
    place: int = sys.maxsize
    """The position that it was last sent."""
    program: ProgramLimits | None = None
    has_begun: bool = False
    """Whether it is in the middle of its answer, and had lent its slot."""

    def tell(self, place: int) -> None:
        """Send its position, but never a worse one than before: a turn ahead of it whose group was full may count again."""
        self.place = min(self.place, place)
        if not self.admitted.done():
            self.on_position(self.place)


class HeldSlot:
    """The slot of one answer. It may lend it to others while it waits for its person, and must have it again before it asks a model."""

    def __init__(self, slots: Slots, groups: frozenset[str], since: float, program: ProgramLimits | None) -> None:
        self._slots, self._groups, self._since, self._program = slots, groups, since, program
        self._is_lent = False

    def lend(self) -> None:
        """Others may have it from now on."""
        if not self._is_lent:
            self._is_lent = True
            self._slots.give_back(self._groups, self._program)

    async def take_back(self, on_position: PositionChanged) -> None:
        """Have it again, if it was lent, ahead of all who came later."""
        if self._is_lent:
            await self._slots.take_again(self._groups, on_position, self._since)
            self._is_lent = False


class Slots:
    """The slots of one event loop. ``is_closed``: nobody is admitted any more."""

    def __init__(self, most: int, by_group: Mapping[str, int] | None = None) -> None:
        """``most``: the limit for all answers. ``by_group``: the limit for the members of each group."""
        self._free = most
        self.is_closed = False
        self._free_by_group = dict(by_group or {})
        self._queue: list[_Waiting] = []
        """The people, in the order of ``since``."""
        self._programs: list[_Waiting] = []
        self._of_programs: Counter[UUID] = Counter()
        """How many answers are being written for the programs of a person, and for a key."""
        self._inside: Counter[UUID] = Counter()
        """How many answers are being written for the programs of a person, or wait."""
        self._usual = FIRST_GUESS
        """How many seconds a program's answer usually takes."""
        self._updating: asyncio.Task[None] | None = None
        self._spare: dict[asyncio.Task[Any], None] = {}

    def close(self) -> None:
        """Admit nobody from now on: the process ends. Turns that wait are launched by another, or by this one after its restart. Those that
        had lent their slot go on at once: their answer has begun, and is finished here."""
        self.is_closed = True
        for waiting in [each for each in self._queue if each.has_begun and not each.admitted.done()]:
            self._queue.remove(waiting)
            self._take(waiting.groups)
            waiting.admitted.set_result(None)

    def has_room(self, turns: int) -> bool:
        """Whether so many more turns would get a slot at once, if none of their groups is full."""
        return not self._queue and self._open >= turns

    @property
    def _open(self) -> int:
        return 0 if self.is_closed else self._free

    def enter(self, owner: UUID, at_once: int, waiting: int, key: UUID | None = None) -> Callable[[], None]:
        """Count a program's request that is going to be stored, and return what to call when it is over. ``at_once``: how many
        answers are written at once for the programs of this person; ``waiting``: how many more may wait. One more of a ``key`` that has
        none may always: no key shuts out another.

        Raises:
            QueueFullError: so many wait already.
        """
        if self._inside[owner] >= at_once + waiting and (key is None or self._inside[key]):
            raise QueueFullError(self._seconds_for(owner, at_once))
        counted = [owner, *filter(None, (key,))]
        self._inside.update(counted)
        is_inside = True

        def leave() -> None:
            nonlocal is_inside
            if is_inside:
                self._inside.subtract(counted)
            is_inside = False
            self._inside = +self._inside

        return leave

    def _seconds_for(self, owner: UUID, at_once: int) -> int:
        return min(max(math.ceil(self._usual * self._inside[owner] / at_once), 1), LONGEST_ESTIMATE)

    @contextlib.asynccontextmanager
    async def acquire(
        self, on_position: PositionChanged, groups: Iterable[str] = (), waited: float = 0.0, program: ProgramLimits | None = None
    ) -> AsyncIterator[HeldSlot]:
        """Hold a slot for the duration of the block, which gets it, and may lend it. If it must wait, ``on_position`` gets the position at
        once, and again when it changes; of a program only the first one, and 0.

        ``groups``: those that the person is in. The answer counts toward each of them that has a limit. ``waited``: for how many seconds it
        has already waited in another process; it goes ahead of those that have waited for less. ``program``: if it is for a program.

        Raises:
            QueueFullError: a program has waited for too long.
        """
        begun_at = time.monotonic()
        own = frozenset(self._free_by_group.keys() & set(groups))
        ahead = [*self._queue, *(self._programs if program else ())]
        if self._open and not self._is_full(own, program) and not any(own & waiting.groups or waiting.program for waiting in ahead):
            self._take(own, program)
        elif program is None:
            await self._wait(own, on_position, begun_at - waited)
        else:
            await self._wait_with_others(own, on_position, begun_at, program)
        admitted_at = time.monotonic()
        measures.QUEUE_SECONDS.observe(admitted_at - begun_at)
        held = HeldSlot(self, own, begun_at - waited, program)
        try:
            yield held
        finally:
            if program is not None:
                seconds = time.monotonic() - admitted_at
                self._usual = 0.8 * self._usual + 0.2 * seconds
            held.lend()

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

    async def take_again(self, own: frozenset[str], on_position: PositionChanged, since: float) -> None:
        """Take a slot once more, ahead of everybody who began to wait after ``since``."""
        is_free = self._open and not self._is_full(own) and not any(own & waiting.groups for waiting in self._queue)
        if self.is_closed or is_free:
            self._take(own)
        else:
            await self._wait(own, on_position, since, has_begun=True)

    async def _wait(self, own: frozenset[str], on_position: PositionChanged, since: float, *, has_begun: bool = False) -> None:
        """Wait in the queue until there is a slot. If the wait is cancelled, the slot that was given or reserved goes to others."""
        waiting = _Waiting(own, on_position, asyncio.get_running_loop().create_future(), since, has_begun=has_begun)
        bisect.insort(self._queue, waiting, key=attrgetter("since"))
        waiting.place = next(place for other, place in self._places() if other is waiting)
        if self._open and not self._is_full(own):
            self._admit()  # its groups have room for it, and for their members that are already waiting
        if not waiting.admitted.done():
            on_position(waiting.place)
            if self._updating is None:
                self._updating = asyncio.create_task(self._send_positions(), name="places in the queue", context=Context())
        try:
            with measures.WAITING.track_inprogress():
                await waiting.admitted
        except asyncio.CancelledError:
            if waiting.admitted.done() and not waiting.admitted.cancelled():
                self.give_back(own)  # it was admitted at the same moment
            else:
                self._queue.remove(waiting)
                self._admit()  # the slots that were reserved for it are free
            raise
        on_position(0)

    async def _wait_with_others(self, own: frozenset[str], on_position: PositionChanged, since: float, program: ProgramLimits) -> None:
        """Wait as a program, behind all people."""
        waiting = _Waiting(own, on_position, asyncio.get_running_loop().create_future(), since, program=program)
        self._programs.append(waiting)
        self._admit()
        if not waiting.admitted.done():
            on_position(len(self._queue) + len(self._programs))
        try:
            with measures.WAITING.track_inprogress():
                async with asyncio.timeout(program.seconds):
                    await waiting.admitted
        except (asyncio.CancelledError, TimeoutError) as error:
            if waiting.admitted.done() and not waiting.admitted.cancelled():
                self.give_back(own, program)  # it was admitted at the same moment
            else:
                self._programs.remove(waiting)
            if isinstance(error, TimeoutError):
                raise QueueFullError(self._seconds_for(program.owner, program.at_once)) from None
            raise
        on_position(0)

    def _take(self, groups: frozenset[str], program: ProgramLimits | None = None) -> None:
        self._free -= 1
        if program is not None:
            self._of_programs.update(filter(None, (program.owner, program.key)))
        for group in groups:
            self._free_by_group[group] -= 1
        while self._free < len(self._spare):
            self._spare.popitem()[0].cancel()

    def give_back(self, groups: frozenset[str], program: ProgramLimits | None = None) -> None:
        self._free += 1
        if program is not None:
            self._of_programs.subtract(filter(None, (program.owner, program.key)))
            self._of_programs = +self._of_programs
        for group in groups:
            self._free_by_group[group] += 1
        self._admit()

    def _admit(self) -> None:
        """Admits every turn that can start, in queue order.

        A turn that waits for one of its groups reserves a slot in the others; otherwise later turns could keep taking those.
        """
        if not self._open or not (self._queue or self._programs):
            return
        free_by_group = dict(self._free_by_group)
        for waiting in list(self._queue):
            if waiting.admitted.done():
                continue  # cancelled; ``_wait`` removes it
            if all(free_by_group[group] > 0 for group in waiting.groups):
                self._queue.remove(waiting)
                self._take(waiting.groups)
                waiting.admitted.set_result(None)
            for group in waiting.groups:
                free_by_group[group] -= 1
            if not self._free:
                return
        self._admit_programs(free_by_group)

    def _admit_programs(self, free: dict[str, int]) -> None:
        """Admits the programs that can start, with what people have left of the groups: always one of the key that has the fewest answers.
        None of them reserves anything."""
        while self._free:
            can_start = [
                waiting
                for waiting in self._programs
                if not waiting.admitted.done() and self._may_have(waiting.program) and all(free[group] > 0 for group in waiting.groups)
            ]
            if not can_start:
                return
            first = min(can_start, key=lambda waiting: (self._of_programs[_whose(waiting.program)], waiting.since))
            self._programs.remove(first)
            self._take(first.groups, first.program)
            for group in first.groups:
                free[group] -= 1
            first.admitted.set_result(None)

    def _may_have(self, program: ProgramLimits | None) -> bool:
        """Whether one more answer may be written for this program; None: for a person."""
        if program is None:
            return True
        has_room = self._of_programs[program.owner] < program.at_once
        return has_room and (program.key is None or program.key_at_once is None or self._of_programs[program.key] < program.key_at_once)

    def _is_full(self, groups: Iterable[str], program: ProgramLimits | None = None) -> bool:
        return not self._may_have(program) or any(self._free_by_group[group] <= 0 for group in groups)

    def _places(self) -> Iterator[tuple[_Waiting, int]]:
        """Each waiting turn with its position. Turns that wait for a full group that it is not in do not count."""
        ahead: Counter[frozenset[str]] = Counter()
        for waiting in list(self._queue):
            counted = (count for groups, count in ahead.items() if groups & waiting.groups or not self._is_full(groups))
            yield waiting, 1 + sum(counted)
            ahead[waiting.groups] += 1

    async def _send_positions(self) -> None:
        while self._queue:
            await asyncio.sleep(UPDATE_SECONDS)
            for number, (waiting, place) in enumerate(self._places(), start=1):
                waiting.tell(place)
                if number % AT_ONCE == 0:
                    await asyncio.sleep(0)
        self._updating = None


def _whose(program: ProgramLimits | None) -> UUID:
    return (program.key or program.owner) if program else UUID(int=0)


_slots: dict[asyncio.AbstractEventLoop, Slots] = {}


def slots() -> Slots:
    loop = asyncio.get_running_loop()
    if loop not in _slots:
        for ended in [known for known in _slots if known.is_closed()]:
            del _slots[ended]
        env = environment()
        _slots[loop] = Slots(env.max_answers_at_once, env.group_answers_at_once)
    return _slots[loop]
