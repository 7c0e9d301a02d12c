"""Django's PostgreSQL, with a limited number of connections for pages, which do not wait for a server that is away; and connections of a
server's processes, which do not wait for a backend that stands still.

Each page opens a connection of its own: none is kept that might be dead when the next page needs it. Opening one takes at most
CONNECT_SECONDS, whether the server refuses, is silent, or its name cannot be resolved. Django's own pool replaces dead connections in the
background with growing pauses, and pages would wait and fail after the server is back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, cast

import psycopg
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base

log = logging.getLogger(__name__)


class Connection(psycopg.Connection[Any]):
    """Gives up on a statement that PostgreSQL itself should have ended: a backend that stands still ends nothing, and the system of its
    machine goes on to acknowledge what is sent, so no limit of TCP helps."""

    most_seconds: float | None = None
    """How long a statement may take, with its result."""

    def wait(self, gen: Generator[Any, Any, Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        try:
            return super().wait(gen, interval, self.most_seconds if timeout is None else timeout)
        except psycopg.errors._WaitTimeout:
            self.pgconn.finish()  # in the middle of a statement, nothing can be asked of it
            raise psycopg.OperationalError("the server does not answer") from None


class _Driver:
    """psycopg, with connections of this kind."""

    connect = Connection.connect

    def __getattr__(self, name: str) -> Any:
        return getattr(psycopg, name)


STATEMENT_SECONDS = 60
"""How long a statement of a page may take while this process serves: by then, its balancer has given up. Commands have no limit."""
GRACE_SECONDS = 2.0
"""How much longer than PostgreSQL's own limit a statement may take."""
MAX_CONNECTIONS = 20
"""The most that pages of a process use at a time."""
WAIT_SECONDS = 20.0
"""How long a page waits for one that another page uses."""
CONNECT_SECONDS = 1.5
"""How long a page waits for a new connection."""
FIRST_SECONDS = 3.0
"""How long a process waits for its first connection."""
_SILENCE = {"connect_timeout": 5, "tcp_user_timeout": 2000}
"""When libpq gives up, in seconds, and the system, in milliseconds."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's connection, one of the limited number if the settings have a pool."""

    _connection_pools: dict[str, PageConnections]
    _configure_connection: Callable[[Connection], bool]
    Database = cast("Any", _Driver())

    @property
    def pool(self) -> Any:
        """What all connections of this process's pages to the database share; None for a connection on its own."""
        if self.alias == NO_DB_ALIAS or not self.settings_dict["OPTIONS"].get("pool"):
            return None
        pools = self._connection_pools
        return pools.get(self.alias) or pools.setdefault(self.alias, PageConnections(self._connected))

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        connection: Connection = super().get_new_connection(conn_params)
        if seconds := self.settings_dict.get("STATEMENT_SECONDS"):
            connection.most_seconds = seconds + GRACE_SECONDS
        return connection

    def is_usable(self) -> bool:
        """Whether the connection works and its server accepts writes: otherwise it is closed, and the next one finds the new primary.

        Asked after an error, and after a while without use.
        """
        if self.connection is None:
            return False
        try:
            found = self.connection.execute("SHOW transaction_read_only").fetchone()
        except psycopg.Error:
            return False
        return found is not None and found[0] == "off"

    def _connected(self) -> Connection:
        parameters = _SILENCE | self.get_connection_params() | {"autocommit": True}
        if _serving.is_set():
            # What the operator has set in the address of the database comes later, and counts.
            options = parameters.get("options", "")
            parameters["options"] = f"-c statement_timeout={STATEMENT_SECONDS * 1000} {options}".strip()
            connection = Connection.connect(**parameters)
            connection.most_seconds = STATEMENT_SECONDS + GRACE_SECONDS
            if "statement_timeout" in options:
                connection.most_seconds = _set_seconds(connection)
        else:
            connection = Connection.connect(**parameters)
        self._configure_connection(connection)
        return connection


def _set_seconds(connection: Connection) -> float | None:
    """How long a statement may take where the operator has set it: a little longer than for PostgreSQL, None if that has no limit."""
    found = connection.execute("SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'").fetchone()
    return found[0] / 1000 + GRACE_SECONDS if found and found[0] else None


_serving = threading.Event()


def limit_statements() -> None:
    """From now on, statements of pages take at most STATEMENT_SECONDS. Call it in a process that serves, before its first page."""
    _serving.set()


def in_use() -> int:
    """How many connections pages of this process use now, of MAX_CONNECTIONS."""
    return sum(each.in_use for each in list(DatabaseWrapper._connection_pools.values()))


class PageConnections:
    """Up to MAX_CONNECTIONS connections; ``connect`` opens one. With the methods that Django calls on a pool."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._room = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._was_reached = self._is_away = False
        self._opened_at = float("-inf")
        """When the server last opened a connection, for whomever (``time.monotonic``)."""

    def open(self) -> None:
        """Nothing: each connection is opened when it is needed."""

    def close(self) -> None:
        """Nothing: each connection is closed when it is returned."""

    def getconn(self) -> Connection:
        """A new connection.

        Raises:
            psycopg.OperationalError: the server cannot be reached, or all connections stay in use.
        """
        if not self._room.acquire(timeout=CONNECT_SECONDS if self._is_away else WAIT_SECONDS):
            raise psycopg.OperationalError("all connections for pages are in use")
        try:
            found = self._new()
        except BaseException as error:
            self._room.release()
            if isinstance(error, psycopg.OperationalError):
                self._note(error)
            raise
        self._note(None)
        cast("Any", found)._pool = self  # Django returns the connection to it
        return found

    def putconn(self, connection: Connection) -> None:
        """Take a connection back, and close it."""
        connection.close()
        self._room.release()

    @property
    def in_use(self) -> int:
        return MAX_CONNECTIONS - self._room._value

    def _new(self) -> Connection:
        opened: Future[Connection] = Future()
        # In a thread of its own: the name of the server may take long to resolve, and libpq waits for at least two seconds.
        threading.Thread(target=self._open, args=(opened,), name="connect", daemon=True).start()
        begun = since = time.monotonic()
        while True:
            try:
                return opened.result(CONNECT_SECONDS if self._was_reached else FIRST_SECONDS)
            except TimeoutError:
                now = time.monotonic()
                # A server that has opened one for somebody else meanwhile is there: this machine is busy, as when many people sign in.
                if self._opened_at <= since or now > begun + WAIT_SECONDS:
                    break
                since = now
        opened.add_done_callback(_close)
        raise psycopg.OperationalError("it does not answer")

    def _open(self, opened: Future[Connection]) -> None:
        try:
            connection = self._connect()
            self._opened_at = time.monotonic()
            opened.set_result(connection)
        except BaseException as error:  # noqa: BLE001 - raised where somebody waits for it
            opened.set_exception(error)

    def _note(self, error: psycopg.OperationalError | None) -> None:
        """One line when the server is away, and one when it is back. If it was never reached, whoever needs it says so."""
        was_away, self._is_away = self._is_away, self._was_reached and error is not None
        self._was_reached |= error is None
        if self._is_away and not was_away:
            log.error("PostgreSQL cannot be reached for pages: %s", " ".join(str(error).split()))
        elif error is None and was_away:
            log.warning("PostgreSQL can be reached for pages again")


def _close(late: Future[Connection]) -> None:
    if late.exception() is None:
        late.result().close()
