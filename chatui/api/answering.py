"""Starts the turn of a program's request, and streams it as server-sent events until it ends or the program disconnects.

The key is rechecked while a response is streamed. If the database is busy, the stream continues, but only for a while. The events are those
of the turn, keep-alive comments, and ``[DONE]`` at the end.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import StreamingHttpResponse

from chatui.accounts import key_admission
from chatui.accounts.key_admission import LiveKey
from chatui.api.errors import ApiError
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.faults import FAULTS, DatabaseBusyError, is_transient
from chatui.turns import running
from chatui.turns.asks import Ask, ProgramAsk
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import RunningTurn
from chatui.turns.streams.program import Ended, ProgramEvent
from chatui.wire.bus import PROCESS

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""The interval of checks during an answer, and the longest time without sending anything."""
A_MOMENT = 0.001
GRACE_SECONDS = 20.0
"""How long a key that cannot be checked counts as valid. Then nothing more is sent: it may have been revoked meanwhile."""


class KeyWatch:
    """Watches the key of one streamed response. ``wait`` returns how long until the next check."""

    def __init__(self, key: LiveKey) -> None:
        self._key = key
        self._loop = asyncio.get_running_loop()
        self._checked_at = self._loop.time()
        self._next = self._checked_at + CHECK_SECONDS

    @property
    def wait(self) -> float:
        """Seconds until the next check; 0 if it is due."""
        return max(self._next - self._loop.time(), 0.0)

    def remind(self, wake: Callable[[], None]) -> asyncio.TimerHandle:
        """Call ``wake`` a moment after the next check is due."""
        return self._loop.call_at(self._next + A_MOMENT, wake)

    async def why_over(self) -> ProductCode | None:
        """Check the key if it is due: None if it still works, else the reason for ending the stream."""
        if self.wait:
            return None
        self._next = self._loop.time() + CHECK_SECONDS
        try:
            is_good = await pools.commands.run(key_admission.is_still_valid, self._key)
        except (DatabaseBusyError, *FAULTS) as error:
            if not isinstance(error, DatabaseBusyError) and not is_transient(error):
                raise
            log.info("a key could not be checked in time")
            return ProductCode.SERVER_BUSY if self._loop.time() - self._checked_at > GRACE_SECONDS else None
        self._checked_at = self._loop.time()
        return None if is_good else ProductCode.SIGNED_OUT


@dataclass(frozen=True, slots=True)
class Answering:
    """A turn that was started for a program, with its key."""

    key: LiveKey
    asked: Ask
    program: ProgramAsk
    started: RunningTurn

    async def events(self) -> AsyncGenerator[ProgramEvent | None, None]:
        """The events of the turn, up to its end; None if there were none for a while. The turn stops when its reader stops."""
        stream, watch, has_ended = self.program.stream, KeyWatch(self.key), False
        reminder = watch.remind(stream.wake)
        try:
            while not has_ended:
                event = await stream.next()
                if not watch.wait:
                    # A revoked key gets nothing more, not even text that waits for a slow reader.
                    if code := await watch.why_over():
                        event = Ended("failed", code)
                        await stop(self.started)
                    elif event is None:
                        yield None
                    reminder.cancel()
                    reminder = watch.remind(stream.wake)
                if event is not None:
                    has_ended = isinstance(event, Ended)
                    yield event
        finally:
            reminder.cancel()
            if not has_ended:
                await stop(self.started)


async def begin(key: LiveKey, asked: Ask, program: ProgramAsk) -> Answering:
    """Store the program's input, and start its turn. If the program disconnects meanwhile, the turn stops.

    Raises:
        AskRefusedError, NotFoundError, NotStoredError, StillRunningError, DatabaseBusyError: see ``running.ask``.
    """
    storing = asyncio.create_task(running.ask(key.owner, asked))
    try:
        return Answering(key, asked, program, await asyncio.shield(storing))
    except asyncio.CancelledError:
        storing.add_done_callback(_stop_stored)
        raise


async def stop(started: RunningTurn) -> None:
    """Stop the turn, which runs in this process. Never blocks."""
    await running.stop(TurnPlace(started.turn.pk, PROCESS))


def stop_from_thread(started: RunningTurn) -> None:
    running.stop_from_thread(TurnPlace(started.turn.pk, PROCESS))


_stopping: set[asyncio.Task[None]] = set()


def _stop_stored(storing: asyncio.Task[RunningTurn]) -> None:
    if not storing.cancelled() and storing.exception() is None:
        task = asyncio.get_running_loop().create_task(stop(storing.result()))
        _stopping.add(task)
        task.add_done_callback(_stopping.discard)


DONE = b"data: [DONE]\n\n"
STILL_HERE = b": \n\n"
_written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def event(body: Mapping[str, Any], *, named: bool = True) -> bytes:
    """An event; ``named`` by its type."""
    data = _written(body)
    return (f"event: {body['type']}\ndata: {data}\n\n" if named else f"data: {data}\n\n").encode("utf-8", "replace")


def _open_error(error: ApiError) -> Mapping[str, Any]:
    return {"type": "error", "error": error.body()}


@dataclass(frozen=True, slots=True)
class StreamForm:
    """How a format writes a stream."""

    is_named: bool
    """Whether its events are named by their types."""
    still_here: bytes = STILL_HERE
    """Sent while nothing is written."""
    done: bytes = DONE
    """Sent at the end."""
    error: Callable[[ApiError], Mapping[str, Any]] = _open_error
    """The event for an error after the status was sent."""


def streamed(chunks: AsyncIterator[bytes], closed: Callable[[], None]) -> StreamingHttpResponse:
    """A streamed reply, which proxies do not buffer.

    ``closed`` is called in a thread when it is over, even if the reader disconnected before reading any of it.
    """
    response = StreamingHttpResponse(chunks, content_type="text/event-stream; charset=utf-8")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    response._resource_closers.append(closed)  # type: ignore[attr-defined] # Django always calls this, but may not close an iterator
    return response
