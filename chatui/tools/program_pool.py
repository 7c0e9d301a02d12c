"""Programs that keep state between calls: one for each conversation or person, limited in number, and ended when they are idle."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar
from uuid import UUID


class KeepsState(Protocol):
    """A program that keeps state."""

    @property
    def is_alive(self) -> bool:
        """Whether another call can use it."""

    async def end(self) -> None:
        """End it, and wait until it has ended."""


P = TypeVar("P", bound=KeepsState)


@dataclass(slots=True, eq=False, kw_only=True)
class PooledProgram(Generic[P]):
    """The place of a program."""

    key: UUID
    """Its conversation or person."""
    person_id: UUID
    program: P | None = None
    """None until it has started, and after it was ended."""
    waiting: int = 0
    """How many calls use it or wait for it."""
    used_at: float = 0.0
    idle: asyncio.TimerHandle | None = field(default=None, repr=False)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """For calls that must not run at the same time."""

    @property
    def is_alive(self) -> bool:
        return self.program is not None and self.program.is_alive


class ProgramPool(Generic[P]):
    """The programs of one kind. Use them on one event loop."""

    def __init__(self) -> None:
        self.by_key: dict[UUID, PooledProgram[P]] = {}
        """The programs that take calls."""
        self.open: set[PooledProgram[P]] = set()
        """All programs, also those that take no new calls and only answer the ones they have."""
        self._ending: set[asyncio.Task[None]] = set()

    def add(self, kept: PooledProgram[P]) -> PooledProgram[P]:
        self.by_key[kept.key] = kept
        self.open.add(kept)
        return kept

    def make_room(self, among: Iterable[PooledProgram[P]]) -> bool:
        """End the program that has been idle longest. Returns whether any of them is idle."""
        idle = min((each for each in among if not each.waiting), key=lambda each: each.used_at, default=None)
        if idle is not None:
            self.drop(idle)
        return idle is not None

    def release(self, kept: PooledProgram[P], idle_seconds: float) -> None:
        """After a call, for which ``waiting`` was counted up: end the program if it is not the current one or not alive any more; otherwise
        when it has been idle for a while."""
        kept.waiting -= 1
        if kept.waiting:
            return
        if self.by_key.get(kept.key) is not kept or not kept.is_alive:
            self.drop(kept)
            return
        loop = asyncio.get_running_loop()
        kept.used_at = loop.time()
        if kept.idle is not None:
            kept.idle.cancel()
        kept.idle = loop.call_later(idle_seconds, lambda: None if kept.waiting else self.drop(kept))

    def drop(self, kept: PooledProgram[P], *, at_once: bool = False) -> None:
        """Take no more calls for this program, and end it after those that it is answering."""
        if self.by_key.get(kept.key) is kept:
            del self.by_key[kept.key]
        if kept.idle is not None:
            kept.idle.cancel()
        if at_once or not kept.waiting:
            self.open.discard(kept)
            self.end(kept)

    def forget(self, key: UUID) -> None:
        """End the program of a conversation or person that is gone."""
        if kept := self.by_key.get(key):
            self.drop(kept, at_once=True)

    def end(self, kept: PooledProgram[P]) -> None:
        """End a program in the background."""
        program, kept.program = kept.program, None
        if program is not None:
            task = asyncio.get_running_loop().create_task(program.end())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        for kept in list(self.by_key.values()):
            self.drop(kept, at_once=True)
        if self._ending:
            await asyncio.wait(self._ending)
