"""Begins the turn of a program, and follows it until it ends or nobody reads any more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

from chatui.accounts.api_keys import checking
from chatui.accounts.api_keys.checking import LiveKey
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.delivery.bus import PROCESS
from chatui.turns import running
from chatui.turns.asked.by_program import ProgramAsk
from chatui.turns.running import Place
from chatui.turns.start import Started
from chatui.turns.streams.program import Ended, ProgramEvent

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""How often the key is checked while an answer is written, and how long nothing is sent at most."""


@dataclass(frozen=True, slots=True)
class Answering:
    """A turn that was begun for a program, by a key."""

    key: LiveKey
    asked: ProgramAsk
    started: Started

    async def events(self) -> AsyncIterator[ProgramEvent | None]:
        """What happens in the turn, up to its end; None where nothing did for a while. Whoever stops reading stops the turn."""
        loop, has_ended = asyncio.get_running_loop(), False
        next_check = loop.time() + CHECK_SECONDS
        try:
            while not has_ended:
                event = await self._next(next_check - loop.time())
                if loop.time() >= next_check:
                    next_check = loop.time() + CHECK_SECONDS
                    if not await self._is_good():
                        event = Ended("failed", ProductCode.SIGNED_OUT)
                        await stop(self.started)
                    elif event is None:
                        yield None
                if event is not None:
                    has_ended = isinstance(event, Ended)
                    yield event
        finally:
            if not has_ended:
                await stop(self.started)

    async def _next(self, seconds: float) -> ProgramEvent | None:
        try:
            async with asyncio.timeout(max(seconds, 0)):
                return await self.asked.stream.next()
        except TimeoutError:
            return None

    async def _is_good(self) -> bool:
        """A key that was taken back, or whose owner's account was closed, gets no more: not even what waits for a slow reader."""
        try:
            return await pools.commands.run(checking.is_still_good, self.key)
        except DatabaseBusyError:
            log.info("a key could not be checked in time; it is soon checked again")
            return True


async def begin(key: LiveKey, asked: ProgramAsk) -> Answering:
    """Store what the program gives, and launch its turn. A program that goes away meanwhile stops it.

    Raises:
        AskRefusedError, NotFoundError, NotStoredError, StillRunningError, DatabaseBusyError: see ``running.ask_for_program``.
    """
    storing = asyncio.create_task(running.ask_for_program(key.owner, asked))
    try:
        return Answering(key, asked, await asyncio.shield(storing))
    except asyncio.CancelledError:
        storing.add_done_callback(_stop_stored)
        raise


async def stop(started: Started) -> None:
    """Stop the turn, which runs in this process. Waits for nothing."""
    await running.stop(Place(started.turn.pk, PROCESS))


def stop_from_thread(started: Started) -> None:
    """As ``stop``, from synchronous code."""
    running.stop_from_thread(Place(started.turn.pk, PROCESS))


_stopping: set[asyncio.Task[None]] = set()


def _stop_stored(storing: asyncio.Task[Started]) -> None:
    if not storing.cancelled() and storing.exception() is None:
        task = asyncio.get_running_loop().create_task(stop(storing.result()))
        _stopping.add(task)
        task.add_done_callback(_stopping.discard)
