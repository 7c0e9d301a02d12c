"""Executes tools with a time limit, in threads where they cannot block the server's event loop or another turn.

A plain function runs in its own thread, of which there is a limited number; a coroutine runs on one event loop that all tools share, in a
thread. A thread cannot be killed: one that continues after its time limit occupies its slot until it ends, and its result is dropped. A
long function should check ``is_cancelled`` now and then.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import threading
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from chatui.env import environment
from chatui.tools import replies
from chatui.tools.tool import Tool, ToolError

log = logging.getLogger(__name__)

_WAIT_SECONDS = 0.02
_cancelled: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("cancelled", default=None)


class ToolsBusyError(Exception):
    """No thread became free within the time limit."""


class ToolFailedError(Exception):
    """The tool raised something other than a ToolError, or returned something that is not JSON. The text is the name of the exception."""


def is_cancelled() -> bool:
    """Whether the call was cancelled. For tools that are plain functions."""
    event = _cancelled.get()
    return event is not None and event.is_set()


def cancel_all() -> None:
    """Cancel all tools, because the process ends."""
    for execution in list(_running):
        execution.cancel(ToolCancel(execution.call_id, "shutdown"))


def run_on_tools_loop(task: Coroutine[Any, Any, None]) -> concurrent.futures.Future[None]:
    """Run a task on the event loop of asynchronous tools, from any thread; the caller may wait for it. It must not raise."""
    return asyncio.run_coroutine_threadsafe(task, tools_loop())


@dataclass(frozen=True, slots=True)
class ToolCancel:
    """The event ``tool.cancel`` (specification section 9): the call is cancelled. ``reason``: a word for the log."""

    call_id: str
    reason: str


@dataclass(slots=True, eq=False)
class Execution:
    """One run of one call. ``result`` once; ``cancel`` at any time, from the same event loop."""

    call_id: str
    tool: Tool
    arguments: Mapping[str, Any] = field(repr=False)
    most_chars: int
    _cancel: threading.Event = field(default_factory=threading.Event, repr=False)
    _future: concurrent.futures.Future[str] = field(default_factory=concurrent.futures.Future, repr=False)

    async def result(self, seconds: float) -> str:
        """What the tool returned, as JSON of bounded length.

        Raises:
            TimeoutError: it took longer than ``seconds``. ToolsBusyError: it could not even start in that time. ToolError: the tool reports
            an error. ToolFailedError: it failed in another way.
        """
        if self.tool.is_callers:
            raise ToolFailedError("a program's own function")
        _running.add(self)
        try:
            async with asyncio.timeout(seconds):
                if self.tool.is_async:
                    self._future = asyncio.run_coroutine_threadsafe(self._awaited(), tools_loop())
                else:
                    await self._start_thread(time.monotonic() + seconds)
                return await asyncio.wrap_future(self._future)
        except TimeoutError:
            self.cancel(ToolCancel(self.call_id, "deadline"))
            raise
        except asyncio.CancelledError:
            self.cancel(ToolCancel(self.call_id, "stopped"))
            raise
        finally:
            _running.discard(self)

    def cancel(self, event: ToolCancel) -> None:
        """Cancel the call. A coroutine is cancelled; a function can check for it."""
        if not self._cancel.is_set():
            # Without the call's id: it is the model server's text.
            log.info("tool.cancel (%s)", event.reason)
        self._cancel.set()
        self._future.cancel()

    async def _start_thread(self, until: float) -> None:
        while not _places().acquire(blocking=False):
            if time.monotonic() + _WAIT_SECONDS >= until:
                raise ToolsBusyError
            await asyncio.sleep(_WAIT_SECONDS)
        # A daemon: a function that never ends must not keep the process from exiting.
        threading.Thread(target=self._in_thread, name=f"tool {self.tool.name}", daemon=True).start()

    def _in_thread(self) -> None:
        _cancelled.set(self._cancel)
        try:
            self._settle(result=replies.capped(self.tool.run(self.arguments), self.most_chars))
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises is its own failure, SystemExit included
            self._settle(error=_failure(error))
        finally:
            _places().release()

    async def _awaited(self) -> str:
        try:
            return replies.capped(await self.tool.run(self.arguments), self.most_chars)
        except BaseException as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Includes a CancelledError raised by the tool itself: passed on, it would look as if the person had pressed Stop.
            raise _failure(error) from None

    def _settle(self, result: str = "", error: Exception | None = None) -> None:
        try:
            if error is None:
                self._future.set_result(result)
            else:
                self._future.set_exception(error)
        except concurrent.futures.InvalidStateError:
            log.info("a late reply of a tool was dropped")


_running: set[Execution] = set()
"""All running calls of this process, on all event loops."""


def _failure(error: BaseException) -> Exception:
    return error if isinstance(error, ToolError) else ToolFailedError(type(error).__name__)


@cache
def _places() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(environment().tool_threads)


@cache
def tools_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the tools that are coroutines, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="asynchronous tools", daemon=True).start()
    return loop
