"""Starts the turn of a program's request, and follows it until it ends or the program disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from chatui.accounts.api_keys.checking import LiveKey
from chatui.api.key_watch import KeyWatch
from chatui.delivery.bus import PROCESS
from chatui.turns import running
from chatui.turns.requests.by_program import ProgramAsk
from chatui.turns.running import Place
from chatui.turns.start import Started
from chatui.turns.streams.program import Ended, ProgramEvent


@dataclass(frozen=True, slots=True)
class Answering:
    """A turn that was started for a program, with its key."""

    key: LiveKey
    asked: ProgramAsk
    started: Started

    async def events(self) -> AsyncGenerator[ProgramEvent | None, None]:
        """The events of the turn, up to its end; None if there were none for a while. The turn stops when its reader stops."""
        watch, has_ended = KeyWatch(self.key), False
        try:
            while not has_ended:
                event = await self._next(watch.wait)
                if not watch.wait:
                    # A revoked key gets nothing more, not even text that waits for a slow reader.
                    if code := await watch.why_over():
                        event = Ended("failed", code)
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
            async with asyncio.timeout(seconds):
                return await self.asked.stream.next()
        except TimeoutError:
            return None


async def begin(key: LiveKey, asked: ProgramAsk) -> Answering:
    """Store the program's input, and start its turn. If the program disconnects meanwhile, the turn stops.

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
    """Stop the turn, which runs in this process. Never blocks."""
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
