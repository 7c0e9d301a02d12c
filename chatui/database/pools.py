"""Bounded thread pools for database work: a full pool refuses jobs, every job has a deadline, and the event loop never blocks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from chatui.database.connections import ThreadConnection
from chatui.database.faults import FAULTS, DatabaseBusyError, busy_error, is_transient
from chatui.observability import measures
from chatui.observability.request_ids import request_id

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.1
MAX_PAUSE_SECONDS = 2.0
"""The pauses between two attempts of ``run_with_retries``, in seconds."""


class Pool:
    """A bounded thread pool of ``threads`` threads, each with its own connection. Up to ``waiting`` more jobs can wait. Each job has
    ``seconds``, including its wait.
    """

    def __init__(self, name: str, *, threads: int, waiting: int, seconds: float, lock_seconds: float | None = None) -> None:
        """``lock_seconds``: how long a statement waits for a lock; by default ``seconds``."""
        self._name = name
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._room = threading.BoundedSemaphore(threads + waiting)
        self._seconds = seconds
        self._lock_seconds = seconds if lock_seconds is None else lock_seconds
        self._own = threading.local()

    async def run(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """What ``work`` returns, run in a thread of the pool.

        Raises:
            DatabaseBusyError: the pool is full, or the deadline has passed. A transaction that was being committed may still take effect.
        """
        if not self._room.acquire(blocking=False):
            raise DatabaseBusyError
        end = time.monotonic() + self._seconds
        submitted: Future[T] = self._threads.submit(self._carry_out, lambda: work(*arguments, **named), end, request_id.get())
        submitted.add_done_callback(lambda _: self._room.release())
        done = asyncio.wrap_future(submitted)
        try:
            await asyncio.wait([done], timeout=self._seconds)
            if done.done():
                return done.result()
            submitted.cancel()
            raise DatabaseBusyError
        finally:
            done.cancel()  # nobody waits for it any more; a job that already runs continues until its deadline

    async def run_or_busy(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """As ``run``, for callers to whom a database that is away is no other than a busy one.

        Raises:
            DatabaseBusyError: also if the database is locked, full or unavailable.
        """
        try:
            return await self.run(work, *arguments, **named)
        except FAULTS as error:
            if not is_transient(error):
                raise
            raise busy_error(error) from None

    async def run_with_retries(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """As ``run``, repeated until the database can do it. Only for work that may run twice."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await self.run(work, *arguments, **named)
            except Exception as error:
                if not isinstance(error, DatabaseBusyError) and not is_transient(error):
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    def _carry_out(self, work: Callable[[], T], deadline: float, request: str) -> T:
        """Runs in a thread of the pool. What is measured includes the wait for the thread: it began ``_seconds`` before the deadline."""
        request_id.set(request)
        if time.monotonic() > deadline:
            raise DatabaseBusyError
        if not hasattr(self._own, "connection"):
            self._own.connection = ThreadConnection(lock_seconds=self._lock_seconds, statement_seconds=self._seconds)
        try:
            with self._own.connection.ready(deadline):
                return work()
        except Exception as error:
            if is_transient(error) and time.monotonic() > deadline:
                raise DatabaseBusyError from None
            raise
        finally:
            measures.labelled(measures.DATABASE_SECONDS, self._name).observe(time.monotonic() - deadline + self._seconds)


commands = Pool("commands", threads=8, waiting=500, seconds=10)
"""Jobs of sockets: their commands, and the repeated check of their sessions."""

turns = Pool("turns", threads=4, waiting=5000, seconds=15)
"""Reads of running turns: their branch, and the rows of the model servers."""

documents = Pool("documents", threads=2, waiting=50, seconds=60)
"""Prepares documents for a question: seconds of work, in a separate pool so that commands of other people do not wait for it."""

leases = Pool("leases", threads=1, waiting=1, seconds=5, lock_seconds=1)
"""Renews the leases of this process's turns and stores the text of their open frames, once a second."""

reaper = Pool("reaper", threads=1, waiting=1, seconds=20)
"""The search for turns whose process has died."""

metrics = Pool("metrics", threads=1, waiting=5, seconds=5, lock_seconds=1)
"""Counts rows for ``/metrics``: at the worst time, too, when pages use all of their connections, or a lock holds the rows."""
