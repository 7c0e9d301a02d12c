"""Django's PostgreSQL, with a pool of connections for pages that neither waits for a server that is away nor passes on a dead connection.

Each connection is asked for a sign of life before a page gets it. If there is none, all idle ones are dropped, since they were lost
together, and a new one is opened. All of that takes at most CONNECT_SECONDS, whether the server refuses, is silent, or its name cannot be
resolved; a connection that is ready only later is kept for the next page. Django's own pool replaces dead connections in the background
with growing pauses, and pages would wait and fail after the server is back.
"""

from __future__ import annotations

import logging
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, cast

import psycopg
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from psycopg.pq import ExecStatus, TransactionStatus

log = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]

MAX_CONNECTIONS = 20
"""The most that pages of a process use at a time."""
WAIT_SECONDS = 20.0
"""How long a page waits for one that another page uses."""
CONNECT_SECONDS = 1.5
"""How long a page waits for a sign of life and for a new connection, together."""
FIRST_SECONDS = 3.0
"""How long a process waits for its first connection."""
_SILENCE = {"connect_timeout": 5, "tcp_user_timeout": 2000}
"""When libpq gives up, in seconds, and the system, in milliseconds."""
_IDLE_SECONDS = 600.0
"""A connection that was unused for this long is closed."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's connection, from the pool if the settings have one."""

    _connection_pools: dict[str, PagePool]
    _configure_connection: Callable[[Connection], bool]

    @property
    def pool(self) -> Any:
        """The pool that all connections of this process to the database share; None for a connection on its own."""
        if self.alias == NO_DB_ALIAS or not self.settings_dict["OPTIONS"].get("pool"):
            return None
        pools = self._connection_pools
        return pools.get(self.alias) or pools.setdefault(self.alias, PagePool(self._connected))

    def _connected(self) -> Connection:
        connection: Connection = psycopg.connect(**_SILENCE | self.get_connection_params() | {"autocommit": True})
        self._configure_connection(connection)
        return connection


class PagePool:
    """Up to MAX_CONNECTIONS connections; ``connect`` opens one. With the methods that Django calls."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._changed = threading.Condition()
        self._idle: deque[tuple[float, Connection]] = deque()
        self._used = 0
        self._was_reached = self._is_away = self._is_closed = False

    def open(self) -> None:
        """Nothing: each connection is opened when it is needed."""

    def close(self) -> None:
        """Close the idle connections, and those in use when they are returned."""
        with self._changed:
            self._is_closed = True
        self._drop_idle(float("inf"))

    def getconn(self) -> Connection:
        """A connection that has just answered.

        Raises:
            psycopg.OperationalError: the server cannot be reached, or all connections stay in use.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._used < MAX_CONNECTIONS, CONNECT_SECONDS if self._is_away else WAIT_SECONDS):
                raise psycopg.OperationalError("all connections for pages are in use")
            self._used += 1
        try:
            now, seconds = time.monotonic(), CONNECT_SECONDS if self._was_reached else FIRST_SECONDS
            found = self._living(now + seconds / 2) or self._new(now + seconds)
        except BaseException:
            self._release()
            raise
        cast("Any", found)._pool = self  # Django returns the connection to it
        return found

    def putconn(self, connection: Connection) -> None:
        """Take a connection back."""
        if connection.pgconn.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            with suppress(psycopg.Error):
                connection.rollback()
        self._keep(connection)
        self._release()
        self._drop_idle(time.monotonic() - _IDLE_SECONDS)

    def _release(self) -> None:
        with self._changed:
            self._used -= 1
            self._changed.notify()

    def _keep(self, connection: Connection) -> None:
        with self._changed:
            if not self._is_closed and connection.pgconn.transaction_status == TransactionStatus.IDLE:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()

    def _drop_idle(self, unused_since: float) -> None:
        while True:
            with self._changed:
                if not self._idle or self._idle[0][0] > unused_since:
                    return
                _, connection = self._idle.popleft()
            connection.close()

    def _living(self, until: float) -> Connection | None:
        """An idle connection that answers, if there is one."""
        with self._changed:
            if not self._idle:
                return None
            _, connection = self._idle.pop()
        if answers(connection, until):
            return connection
        connection.close()
        self._drop_idle(float("inf"))
        return None

    def _new(self, until: float) -> Connection:
        opened: Future[Connection] = Future()
        # In a thread of its own: the name of the server may take long to resolve, and libpq waits for at least two seconds.
        threading.Thread(target=self._open, args=(opened,), name="connect", daemon=True).start()
        try:
            found = opened.result(max(until - time.monotonic(), 0))
        except TimeoutError:
            opened.add_done_callback(self._keep_late)
            error = psycopg.OperationalError("it does not answer")
            self._note(error)
            raise error from None
        except psycopg.OperationalError as error:
            self._note(error)
            raise
        self._note(None)
        return found

    def _open(self, opened: Future[Connection]) -> None:
        try:
            opened.set_result(self._connect())
        except BaseException as error:  # noqa: BLE001 - raised where somebody waits for it
            opened.set_exception(error)

    def _keep_late(self, opened: Future[Connection]) -> None:
        if opened.exception() is None:
            self._keep(opened.result())

    def _note(self, error: psycopg.OperationalError | None) -> None:
        """One line when the server is away, and one when it is back. If it was never reached, whoever needs it says so."""
        with self._changed:
            was_away, self._is_away = self._is_away, self._was_reached and error is not None
            self._was_reached |= error is None
        if self._is_away and not was_away:
            log.error("PostgreSQL cannot be reached for pages: %s", " ".join(str(error).split()))
        elif error is None and was_away:
            log.warning("PostgreSQL can be reached for pages again")


def answers(connection: Connection, until: float) -> bool:
    """Whether the server answers an empty query on an idle connection, until then (monotonic clock)."""
    socket = connection.pgconn
    try:
        socket.send_query(b"")
        socket.flush()
        waiting = select.poll()
        waiting.register(socket.socket, select.POLLIN)
        while True:
            while socket.is_busy():
                if not waiting.poll(max(until - time.monotonic(), 0) * 1000):
                    return False
                socket.consume_input()
            if (result := socket.get_result()) is None:
                return True
            if result.status != ExecStatus.EMPTY_QUERY:
                return False
    except psycopg.Error:
        return False
