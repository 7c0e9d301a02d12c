"""The single writer of a process: one thread, one connection, and one transaction for all pending writes.

SQLite has one writer at a time anyway, and a commit costs the same for one write as for fifty. Each write has a savepoint, so that a
failure does not affect the others. A caller gets its result only after COMMIT.
"""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import itertools
import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import transaction

from chatui.database.connections import ThreadConnection
from chatui.database.faults import busy_error, ends_one_statement, is_full, is_transient
from chatui.observability import measures
from chatui.observability.request_ids import request_id

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_WRITES = 50
"""The most writes in one transaction."""
LOCK_SECONDS = 0.2
"""How long a statement waits for a lock. Then its write is tried again later, and others go first."""
STATEMENT_SECONDS = 10.0
FIRST_PAUSE = 0.05
MAX_PAUSE_SECONDS = 0.5
"""The pauses between two attempts, in seconds."""
DRAIN_PAUSE = 0.005


@dataclass(slots=True, order=True)
class _Entry:
    number: int
    write: Callable[[], Any] = field(compare=False, repr=False)
    order: Hashable = field(compare=False)
    give_up_at: float = field(compare=False)
    future: asyncio.Future[Any] = field(compare=False, repr=False)
    loop: asyncio.AbstractEventLoop = field(compare=False, repr=False)
    not_before: float = field(default=0.0, compare=False)
    pause: float = field(default=FIRST_PAUSE, compare=False)
    posted_at: float = field(default_factory=time.monotonic, compare=False)
    request: str = field(default_factory=request_id.get, compare=False)


class _TransactionError(Exception):
    """The whole transaction was rolled back, because of ``__cause__``."""


class Writer:
    """The single writer of a process: ``await writer.run(write, …)``. Its thread starts with the first write, and is a daemon."""

    def __init__(self) -> None:
        self._posted: queue.SimpleQueue[_Entry] = queue.SimpleQueue()
        self._waiting: list[_Entry] = []
        """Those of the thread, which alone uses this list."""
        self._unsettled: set[int] = set()
        """The numbers of the writes that have no result yet."""
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._is_failing = False
        self._is_in_trouble = False

    async def run(self, write: Callable[..., T], *arguments: Any, order: Hashable = None, patience: float | None = None) -> T:
        """Run a write and return its result once it is committed; see ``post``. The write takes place even if this wait is cancelled.

        Raises:
            DatabaseBusyError: it could not be committed within ``patience`` seconds.
        """
        return await self.post(write, *arguments, order=order, patience=patience)

    def post(self, write: Callable[..., T], *arguments: Any, order: Hashable = None, patience: float | None = None) -> asyncio.Future[T]:
        """Queue a write. The future is done once it is committed.

        A write must be safe to run twice: after a failed COMMIT nobody knows whether it took effect. Writes with the same ``order`` run one
        after the other, in the order of their calls. While the database is locked, full or unavailable, a write waits ``patience`` seconds,
        or indefinitely if that is None. With ``patience`` it is refused at once if the disk is full.
        """
        loop, now = asyncio.get_running_loop(), time.monotonic()
        give_up_at = float("inf") if patience is None else now + patience
        entry = _Entry(next(self._numbers), lambda: write(*arguments), order, give_up_at, loop.create_future(), loop)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
            self._thread.start()
        self._unsettled.add(entry.number)
        self._posted.put(entry)
        return entry.future

    def drain(self, seconds: float) -> bool:
        """Wait for at most ``seconds`` until everything is written, before the process ends. Returns whether it is."""
        until = time.monotonic() + seconds
        while self._unsettled and time.monotonic() < until:
            time.sleep(DRAIN_PAUSE)
        return not self._unsettled

    def _serve(self) -> None:
        connection = ThreadConnection(lock_seconds=LOCK_SECONDS, statement_seconds=STATEMENT_SECONDS)
        while True:
            batch = self._next_batch()
            try:
                with connection.ready():
                    self._carry_out(batch)
            except Exception as error:  # noqa: BLE001 - such as a connection that cannot even be checked; the thread must not end
                self._put_back(batch, error)

    def _next_batch(self) -> list[_Entry]:
        """Wait until something is due, and return all that is."""
        while True:
            while not self._posted.empty():
                self._waiting.append(self._posted.get())
            batch, soonest = self._due(time.monotonic())
            if batch:
                return batch
            with contextlib.suppress(queue.Empty):
                wait = None if soonest == float("inf") else max(soonest - time.monotonic(), 0.001)
                self._waiting.append(self._posted.get(timeout=wait))

    def _due(self, now: float) -> tuple[list[_Entry], float]:
        """Remove the writes that can run now from the queue, in order. A write that must follow one that still waits, waits too. If there
        are none, the second value is when to look again."""
        batch: list[_Entry] = []
        rest: list[_Entry] = []
        blocked: set[Hashable] = set()
        soonest = float("inf")
        for entry in self._waiting:
            if len(batch) < MAX_WRITES and entry.not_before <= now and entry.order not in blocked:
                batch.append(entry)
                continue
            if entry.order not in blocked:
                soonest = min(soonest, entry.not_before)
            rest.append(entry)
            if entry.order is not None:
                blocked.add(entry.order)
        self._waiting = rest
        return batch, soonest

    def _carry_out(self, batch: list[_Entry]) -> None:
        try:
            self._settle(*self._write(batch))
        except _TransactionError as undone:
            error = undone.__cause__ or undone
            if len(batch) == 1:
                self._settle([], [(batch[0], error)])
                return
            # Perhaps one of them is the cause. Each runs in its own transaction, so that it does not delay the others.
            blocked: set[Hashable] = set()
            for position, entry in enumerate(batch):
                if entry.order is not None and entry.order in blocked:
                    self._put_back([entry], error)
                else:
                    self._carry_out([entry])
                    if entry in self._waiting:
                        blocked.add(entry.order)
                if self._is_failing:
                    self._put_back(batch[position + 1 :], error)
                    return

    def _write(self, batch: list[_Entry]) -> tuple[list[tuple[_Entry, Any]], list[tuple[_Entry, BaseException]]]:
        """Run a transaction. Returns the committed writes with their results, and those that failed without affecting the others."""
        done: list[tuple[_Entry, Any]] = []
        failed: list[tuple[_Entry, BaseException]] = []
        blocked: dict[Hashable, Exception] = {}
        self._is_failing = True
        try:
            with transaction.atomic():
                self._is_failing = False  # the database responds, and no other process has the lock
                for entry in batch:
                    try:
                        if entry.order in blocked:
                            raise blocked[entry.order]
                        done.append((entry, self._with_savepoint(entry, len(batch))))
                    except Exception as error:
                        if len(batch) == 1 or transaction.get_connection().needs_rollback or not _is_of_one_write(error):
                            raise
                        failed.append((entry, error))
                        if entry.order is not None and is_transient(error):
                            blocked[entry.order] = error
        except Exception as error:
            raise _TransactionError from error
        return done, failed

    def _with_savepoint(self, entry: _Entry, count: int) -> Any:
        before = request_id.set(entry.request)
        try:
            if count == 1:
                return entry.write()
            with transaction.atomic():
                return entry.write()
        finally:
            request_id.reset(before)

    def _settle(self, done: list[tuple[_Entry, Any]], failed: Iterable[tuple[_Entry, BaseException]]) -> None:
        for entry, _ in done:
            measures.labelled(measures.DATABASE_SECONDS, "writes").observe(time.monotonic() - entry.posted_at)
        self._resolve([(entry, entry.future.set_result, result) for entry, result in done])
        if done and self._is_in_trouble:
            self._is_in_trouble = False
            log.warning("the database accepts writes again")
        for entry, error in failed:
            if is_transient(error):
                self._put_back([entry], error)
            else:
                self._resolve([(entry, entry.future.set_exception, error)])

    def _put_back(self, entries: list[_Entry], error: BaseException) -> None:
        """Try again later, or give up."""
        now = time.monotonic()
        for entry in entries:
            if now >= entry.give_up_at or (is_full(error) and entry.give_up_at != float("inf")):
                self._resolve([(entry, entry.future.set_exception, busy_error(error))])
                continue
            entry.not_before = now + entry.pause * random.uniform(0.5, 1.0)  # noqa: S311 - so that processes do not collide again; no secret
            entry.pause = min(2 * entry.pause, MAX_PAUSE_SECONDS)
            bisect.insort(self._waiting, entry)
        if entries and not self._is_in_trouble:
            self._is_in_trouble = True
            log.warning("writes are waiting for the database (%s)", type(error).__name__)

    def _resolve(self, resolutions: Iterable[_Resolution]) -> None:
        """Resolve futures, those of one event loop together: each wake-up of a loop hands it the interpreter lock, which this thread gets
        back only once the loop has nothing left to do, or after the switch interval."""
        by_loop: dict[asyncio.AbstractEventLoop, list[_Resolution]] = {}
        for resolution in resolutions:
            by_loop.setdefault(resolution[0].loop, []).append(resolution)
        for loop, group in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve_now, group)
            self._unsettled.difference_update(entry.number for entry, *_ in group)


def _is_of_one_write(error: BaseException) -> bool:
    return not is_transient(error) or ends_one_statement(error)


_Resolution = tuple[_Entry, Callable[[Any], None], Any]


def _resolve_now(resolutions: Iterable[_Resolution]) -> None:
    for entry, resolve, value in resolutions:
        if not entry.future.done():
            resolve(value)


writer = Writer()
"""The writer of this process."""
