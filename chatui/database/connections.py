"""A database connection for one of our own threads: kept open, outside Django's request pool, and with its own timeouts."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import load_backend

CHECK_SECONDS = 5.0
"""After so long without use, a connection is checked before it is used again."""
CONNECT_SECONDS = 5
STEPS_BETWEEN_LOOKS = 50_000
"""SQLite's virtual machine takes so many steps, about a millisecond, between two looks at the clock."""


def give_back() -> None:
    """Let others have this request's connection while it waits for something that is no database: PostgreSQL has a fixed number of them."""
    if not connection.in_atomic_block:
        connection.close()


class ThreadConnection:
    """The connection of the current thread. Create it in that thread; all of Django's models use it there from then on."""

    def __init__(self, *, lock_seconds: float, statement_seconds: float) -> None:
        """``lock_seconds``: how long a statement waits for a lock. ``statement_seconds``: how long it may take, on PostgreSQL."""
        settings = copy.deepcopy(connections["default"].settings_dict)
        settings["CONN_MAX_AGE"] = None
        if settings["ENGINE"].endswith("sqlite3"):
            settings["OPTIONS"]["timeout"] = lock_seconds
        else:
            settings["CONN_HEALTH_CHECKS"] = True
            settings["OPTIONS"] = _limited(settings["OPTIONS"], lock_seconds, statement_seconds)
        self.wrapper: BaseDatabaseWrapper = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, "default")
        self.wrapper.execute_wrappers.append(self._refuse_when_late)
        self._deadline = float("inf")
        self._used_at = 0.0
        connections["default"] = self.wrapper

    @contextmanager
    def ready(self, deadline: float = float("inf")) -> Iterator[None]:
        """Use the connection, until ``deadline`` (by the monotonic clock): no statement begins after it, and SQLite's end with it."""
        self.wrapper.close_if_unusable_or_obsolete()
        self.wrapper.health_check_done = time.monotonic() - self._used_at < CHECK_SECONDS  # type: ignore[attr-defined]
        self._deadline = deadline
        if self.wrapper.vendor == "sqlite":
            self.wrapper.ensure_connection()
            self.wrapper.connection.set_progress_handler(self._is_late, STEPS_BETWEEN_LOOKS)
        try:
            yield
        finally:
            self._deadline = float("inf")
            self.wrapper.close_if_unusable_or_obsolete()
            self._used_at = time.monotonic()

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _refuse_when_late(self, execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        if self._is_late():
            raise OperationalError("the deadline has passed")
        return execute(sql, parameters, many, context)


def _limited(options: dict[str, Any], lock_seconds: float, statement_seconds: float) -> dict[str, Any]:
    limits = f"-c lock_timeout={round(lock_seconds * 1000)} -c statement_timeout={round(statement_seconds * 1000)}"
    # A server that has gone silent must not hold a thread longer than a statement would.
    silence = {"connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": round((statement_seconds + CONNECT_SECONDS) * 1000)}
    rest = {name: value for name, value in options.items() if name != "pool"}
    return silence | rest | {"options": f"{rest.get('options', '')} {limits}".strip()}
