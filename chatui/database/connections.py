"""Database connections for our own threads, long work in short transactions, and the database's clock, which all processes share even if
those of their machines differ.

Such a connection stays open, is outside the pool for pages, and has its own timeouts.
"""

from __future__ import annotations

import copy
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Expression, ExpressionWrapper
from django.db.models.functions import Now
from django.db.utils import load_backend

from chatui.database import faults

CHECK_SECONDS = 5.0
"""A connection that was unused for this long is checked before it is used again."""
CONNECT_SECONDS = 5
STEPS_BETWEEN_CHECKS = 50_000
"""How many steps SQLite's virtual machine takes between two checks of the deadline: about a millisecond."""
MOST_CLOCK_ERROR = timedelta(minutes=5)
"""How far the clock of this machine may be from the database's."""
_MIN_PAUSE_SECONDS = 0.01
_MAX_PAUSE_SECONDS = 0.25


def release_request_connection() -> None:
    """Release this request's connection while it waits for something other than the database: PostgreSQL has a limited number of them."""
    if not connection.in_atomic_block:
        connection.close()


@contextmanager
def short_transaction() -> Iterator[None]:
    """One step of long work: a transaction, followed by a pause as long as it took, of at least 10 ms, so that others can write.

    SQLite has one writer at a time, and waiting writers only poll the lock (at most every 100 ms): without pauses they would wait for the
    last transaction.
    """
    started = time.monotonic()
    with transaction.atomic():
        yield
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(min(max(time.monotonic() - started, _MIN_PAUSE_SECONDS), _MAX_PAUSE_SECONDS))


class _OfThread(threading.local):
    wrapper: BaseDatabaseWrapper | None = None


of_thread = _OfThread()
"""The connection of the current thread, if it is one of ours. Django looks one up by its name in six steps, which each statement paid."""


class ThreadConnection:
    """The connection of the current thread. Create it in that thread: from then on, all of Django's models use it there."""

    def __init__(self, *, lock_seconds: float, statement_seconds: float) -> None:
        """``lock_seconds``: how long a statement waits for a lock. ``statement_seconds``: how long it may take, on PostgreSQL."""
        settings = copy.deepcopy(connections["default"].settings_dict)
        settings["CONN_MAX_AGE"] = None
        if settings["ENGINE"].endswith("sqlite3"):
            settings["OPTIONS"]["timeout"] = lock_seconds
        else:
            settings["CONN_HEALTH_CHECKS"] = True
            settings["OPTIONS"] = _limited(settings["OPTIONS"], lock_seconds, statement_seconds)
            settings["STATEMENT_SECONDS"] = statement_seconds  # ``base`` watches over a backend that stands still
        self.wrapper: BaseDatabaseWrapper = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, "default")
        self.wrapper.execute_wrappers.append(self._refuse_when_late)
        self._deadline = float("inf")
        self._used_at = 0.0
        self._is_read_only = False
        """A statement has found that this connection writes nothing, and it stays so. The next one finds the new primary, or opens the file
        anew."""
        connections["default"] = of_thread.wrapper = self.wrapper

    @contextmanager
    def ready(self, deadline: float = float("inf")) -> Iterator[None]:
        """Use the connection until ``deadline`` (monotonic clock). No statement begins after it; in SQLite, a running one is aborted."""
        self.wrapper.close_if_unusable_or_obsolete()
        is_trusted = time.monotonic() - self._used_at < CHECK_SECONDS and not self._has_heard()
        self.wrapper.health_check_done = is_trusted  # type: ignore[attr-defined]
        self._deadline = deadline
        if self.wrapper.vendor == "sqlite":
            self.wrapper.ensure_connection()
            self.wrapper.connection.set_progress_handler(self._is_late, STEPS_BETWEEN_CHECKS)
        try:
            yield
        finally:
            self._deadline = float("inf")
            if self._is_read_only:
                self._is_read_only = False
                self.wrapper.close()
            self.wrapper.close_if_unusable_or_obsolete()
            self._used_at = time.monotonic()

    def _has_heard(self) -> bool:
        """Whether the server sent something unasked, such as the end of the connection."""
        if self.wrapper.vendor == "sqlite" or self.wrapper.connection is None:
            return False
        waiting = select.poll()
        waiting.register(self.wrapper.connection.fileno(), select.POLLIN)
        return bool(waiting.poll(0))

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _refuse_when_late(self, execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        if time.monotonic() > self._deadline:
            raise OperationalError("the deadline has passed")
        try:
            return execute(sql, parameters, many, context)
        except DatabaseError as error:
            self._is_read_only = self._is_read_only or faults.is_read_only(error)
            raise


def _limited(options: dict[str, Any], lock_seconds: float, statement_seconds: float) -> dict[str, Any]:
    limits = f"-c lock_timeout={round(lock_seconds * 1000)} -c statement_timeout={round(statement_seconds * 1000)}"
    # A server that no longer responds must not block a thread for longer than a statement would.
    silence = {"connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": round((statement_seconds + CONNECT_SECONDS) * 1000)}
    rest = {name: value for name, value in options.items() if name != "pool"}
    return silence | rest | {"options": f"{rest.get('options', '')} {limits}".strip()}


def accepts_writes() -> bool:
    """Whether what a page would write now could be stored, found out without writing.

    It opens a connection as a page does, beside the one that this thread keeps: the server may have none left. Raises DatabaseError as a
    page would: SQLite's lock may be taken, its file may be read-only.
    """
    connection.ensure_connection()
    fresh = connection.copy()
    try:
        with fresh.cursor() as cursor:
            if fresh.vendor == "sqlite":
                cursor.execute("BEGIN IMMEDIATE")  # which takes the lock, but of a file for reading it only begins to read
                cursor.execute("PRAGMA user_version")
                cursor.execute(f"PRAGMA user_version = {int(cursor.fetchone()[0])}")
                cursor.execute("ROLLBACK")
                return True
            cursor.execute("SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'")
            return bool(cursor.fetchone()[0])
    finally:
        fresh.close()


def of_pages() -> tuple[int, int] | None:
    """How many connections pages of this process use now, and how many they may; None on SQLite, where their number has no limit."""
    if connection.vendor == "sqlite":
        return None
    from chatui.database import base  # imported here, because only PostgreSQL has its driver

    return base.in_use(), base.MAX_CONNECTIONS


def limit_pages() -> None:
    """In a process that serves, before its first page: let none wait for ever for one statement. SQLite has no server that stands still."""
    if connection.vendor != "sqlite":
        from chatui.database import base  # as above

        base.limit_statements()


def of_server() -> tuple[int, int]:
    """How many connections PostgreSQL has, of whatever program, and how many it allows to the product. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), "
            "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        )
        used, allowed = cursor.fetchone()
    return int(used), int(allowed)


def now() -> Expression:
    return Now()


def clock_error() -> timedelta:
    """How far the clock of this machine is ahead of the database's, at least; negative if it is behind. Zero for SQLite, which has no
    other. One statement, whose own time counts for neither."""
    if connection.vendor == "sqlite":
        return timedelta(0)
    with connection.cursor() as cursor:
        before = datetime.now(UTC)
        cursor.execute("SELECT clock_timestamp()")
        there: datetime = cursor.fetchone()[0]
        after = datetime.now(UTC)
    return before - there if before > there else min(after - there, timedelta(0))


def is_clock_right() -> bool:
    """Whether the clock of this machine agrees with the database's. One statement."""
    return abs(clock_error()) <= MOST_CLOCK_ERROR


def seconds_since_start() -> float:
    """How long the database server has been running; infinite for SQLite, which has no server. One statement."""
    if connection.vendor != "postgresql":
        return float("inf")
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXTRACT(EPOCH FROM now() - pg_postmaster_start_time())")
        return float(cursor.fetchone()[0])


def after(wait: timedelta) -> Expression:
    """The current time plus ``wait``."""
    return ExpressionWrapper(Now() + wait, output_field=DateTimeField())


def before(wait: timedelta) -> Expression:
    """The current time less ``wait``."""
    return after(-wait)


@cache
def after_sql(wait: timedelta) -> str:
    """The current time plus ``wait``, as SQL."""
    if connection.vendor == "sqlite":
        return f"strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '+{wait.total_seconds()} seconds')"
    return f"statement_timestamp() + interval '{wait.total_seconds()} seconds'"


def as_parameter(key: UUID) -> UUID | str:
    """A key as a parameter of a raw statement."""
    return key.hex if connection.vendor == "sqlite" else key


def as_uuid(value: object) -> UUID:
    """A key as the database has it."""
    return value if isinstance(value, UUID) else UUID(int=int(str(value), 16))
