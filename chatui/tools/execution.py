"""Executes tools with a time limit, in threads where they cannot block the server's event loop or another turn.

A plain function runs in its own thread; the number of these threads is limited. A coroutine runs on one event loop in a thread that all
tools share. A thread cannot be killed: if it continues after its time limit, it occupies its slot until it ends, and its result is dropped.
A long function should check ``is_cancelled`` now and then.

A call's time counts only while it runs: not while it waits for a place at its server, or for the person.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import math
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from chatui.tools import replies
from chatui.tools.tool import Noted, Tool, ToolError

log = logging.getLogger(__name__)

_WAIT_SECONDS = 0.02
_cancelled: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("cancelled", default=None)


class ToolsBusyError(Exception):
    """No thread became free within the time limit."""


class ToolFailedError(Exception):
    """The tool raised an exception other than ToolError, or returned something other than JSON. The text is the exception's name."""


def is_cancelled() -> bool:
    """Whether the current call was cancelled. For tools that are plain functions."""
    event = _cancelled.get()
    return event is not None and event.is_set()


def cancel_all() -> None:
    """Cancel all running calls, because the process exits."""
    for execution in list(_running):
        execution.cancel("shutdown")


T = TypeVar("T")


def run_on_tools_loop(task: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
    """Run a task on the event loop of asynchronous tools, from any thread. The caller may wait for it. The task must not raise."""
    return asyncio.run_coroutine_threadsafe(task, tools_loop())


class _Clock:
    """How much of its time a call has left. It can be paused."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._paused_at: float | None = None

    @property
    def left(self) -> float:
        return self._until - (time.monotonic() if self._paused_at is None else self._paused_at)

    def pause(self) -> None:
        self._paused_at = time.monotonic()

    def go_on(self) -> None:
        if self._paused_at is not None:
            self._until += time.monotonic() - self._paused_at
        self._paused_at = None


_current: contextvars.ContextVar[Execution | None] = contextvars.ContextVar("current", default=None)


@contextmanager
def waiting_for_place() -> Iterator[None]:
    """A block in which the current call, on the event loop of the tools, waits for a place: it has not begun, and is not timed."""
    with _untimed() as execution:
        if execution is not None:
            execution.has_begun = False
        yield
        if execution is not None:
            execution.has_begun = True


@contextmanager
def waiting_for_person() -> Iterator[None]:
    """A block in which the current call, on the event loop of the tools, waits for the person: neither it nor the turn is timed."""
    with _untimed() as execution:
        if execution is not None:
            execution.on_person(True)
        try:
            yield
        finally:
            if execution is not None:
                execution.on_person(False)


@contextmanager
def _untimed() -> Iterator[Execution | None]:
    execution = _current.get()
    if execution is None or execution.clock is None:
        yield None
        return
    execution.clock.pause()
    try:
        yield execution
    finally:
        execution.clock.go_on()


def _unheard(is_waiting: bool) -> None:
    """Nobody measures the time of all calls."""


_MOST_STEP = 5.0
_LEAST_STEP = 0.05


@dataclass(slots=True, eq=False)
class Execution:
    """One execution of one call. Await ``result`` once; ``cancel`` may be called at any time, on the same event loop."""

    tool: Tool
    arguments: Mapping[str, Any] = field(repr=False)
    max_chars: int
    note: str = ""
    """A sentence of the product's for the model, beside the result."""
    has_begun: bool = True
    """False while the call waits for a place."""
    on_person: Callable[[bool], None] = field(default=_unheard, repr=False)
    """Called on the tools' event loop when the call begins and ends to wait for the person."""
    clock: _Clock | None = field(default=None, repr=False)
    _cancel: threading.Event = field(default_factory=threading.Event, repr=False)
    _future: concurrent.futures.Future[str] = field(default_factory=concurrent.futures.Future, repr=False)

    async def result(self, seconds: float, most: Callable[[], float] = lambda: math.inf) -> str:
        """What the tool returned, as JSON of bounded length. ``most``: how much time is left for all calls of the turn.

        Raises:
            TimeoutError: it took longer than ``seconds``, or than ``most``.
            ToolsBusyError: it could not even start in that time.
            ToolError: the tool reports an error.
            ToolFailedError: the tool failed in another way.
        """
        if self.tool.is_run_by_caller:
            raise ToolFailedError("a program's own function")
        until = time.monotonic() + seconds
        self.clock = _Clock(seconds)
        _running.add(self)
        try:
            if self.tool.is_async:
                self._future = asyncio.run_coroutine_threadsafe(self._awaited(), tools_loop())
            else:
                while not _places().acquire(blocking=False):
                    if time.monotonic() + _WAIT_SECONDS >= until:
                        raise ToolsBusyError
                    await asyncio.sleep(_WAIT_SECONDS)
                # A daemon: a function that never ends must not keep the process from exiting.
                threading.Thread(target=self._in_thread, name=f"tool {self.tool.name}", daemon=True).start()
            return await self._finished(self.clock, most)
        except TimeoutError:
            self.cancel("deadline")
            if not self.has_begun:
                raise ToolsBusyError from None
            raise
        except asyncio.CancelledError:
            self.cancel("stopped")
            raise
        finally:
            _running.discard(self)

    async def _finished(self, clock: _Clock, most: Callable[[], float]) -> str:
        future = asyncio.wrap_future(self._future)
        while not future.done():
            seconds_left = min(clock.left, most())
            if seconds_left <= 0:
                raise TimeoutError
            # In steps, because either time may have been paused meanwhile.
            await asyncio.wait({future}, timeout=min(max(seconds_left, _LEAST_STEP), _MOST_STEP))
        return future.result()

    def cancel(self, reason: str) -> None:
        """Cancel the call: the event ``tool.cancel`` (specification section 9). A coroutine is cancelled; a function can check
        ``is_cancelled``. ``reason``: a word for the log."""
        if not self._cancel.is_set():
            log.info("tool.cancel (%s)", reason)
        self._cancel.set()
        self._future.cancel()

    def _in_thread(self) -> None:
        """Run the tool, and pass on its reply or its failure. Nobody waits for these any more if its time was up."""
        _cancelled.set(self._cancel)
        try:
            try:
                found = replies.bounded_json(self.tool.run(self.arguments), self.max_chars)
            except BaseException as error:  # noqa: BLE001 - any exception is the tool's failure, even SystemExit
                self._future.set_exception(_failure(error))
            else:
                self._future.set_result(found)
        except concurrent.futures.InvalidStateError:
            log.info("a late reply of a tool was dropped")
        finally:
            _places().release()

    async def _awaited(self) -> str:
        _current.set(self)
        try:
            found = await self.tool.run(self.arguments)
            if isinstance(found, Noted):
                found, self.note = found.value, found.note
            return replies.bounded_json(found, self.max_chars)
        except BaseException as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # This may be a CancelledError that the tool itself raised. Passed on, it would look as if the person had pressed Stop.
            raise _failure(error) from None


_running: set[Execution] = set()
"""All running calls of this process, on all event loops."""


def _failure(error: BaseException) -> Exception:
    if isinstance(error, replies.TooDeepError):
        return ToolError(str(error))
    return error if isinstance(error, ToolError) else ToolFailedError(type(error).__name__)


THREADS = 16
"""How many tools that are plain functions run at a time in one process."""


@cache
def _places() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(THREADS)


@cache
def tools_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the tools that are coroutines. It runs in its own thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="asynchronous tools", daemon=True).start()
    return loop
