"""Executes SQL that is already compiled.

Django creates a cursor for each statement, wraps it twice, and rewrites every placeholder. In SQLite this takes as long as the statement
itself, so there the database's own connection is called. Everything that Django promises is kept: deadlines and other wrappers, its own
exceptions, no statement in a broken transaction, and no database on the event loop.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

_PLACEHOLDER = re.compile(r"(?<!%)%s")


class CompiledText:
    """A statement's SQL, for one connection."""

    def __init__(self, connection: Any, sql: str) -> None:
        """``sql`` has Django's placeholders, ``%s``."""
        self._connection = connection
        self._sql = sql
        self._is_direct = connection.vendor == "sqlite"
        self._native = _PLACEHOLDER.sub("?", sql).replace("%%", "%")

    def rows(self, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """Execute a SELECT, and return its rows."""
        if self._calls_directly():
            found = self._execute(parameters)
            with self._connection.wrap_database_errors:  # SQLite looks for each row only when it is fetched
                return list(found.fetchall())
        with self._connection.cursor() as cursor:
            cursor.execute(self._sql, parameters)
            return list(cursor.fetchall())

    def run(self, parameters: Sequence[object]) -> int:
        """Execute another statement. Returns how many rows were changed."""
        if self._calls_directly():
            return int(self._execute(parameters).rowcount)
        with self._connection.cursor() as cursor:
            cursor.execute(self._sql, parameters)
            return int(cursor.rowcount)

    def _calls_directly(self) -> bool:
        return self._is_direct and not self._connection.force_debug_cursor  # which records statements, in tests

    def _execute(self, parameters: Sequence[object]) -> Any:
        """Execute it in SQLite. Returns SQLite's cursor.

        Raises:
            django.db.Error: the statement failed, its deadline has passed, or an earlier failure broke the transaction.
            SynchronousOnlyOperation: this is an event loop.
        """
        connection = self._connection
        connection.validate_thread_sharing()
        connection.ensure_connection()
        connection.validate_no_broken_transaction()
        execute: Any = self._call
        for wrapper in reversed(connection.execute_wrappers):
            execute = functools.partial(wrapper, execute)
        return execute(self._sql, parameters, False, {"connection": connection, "cursor": None})

    def _call(self, _sql: str, parameters: Sequence[object], *_: object) -> Any:
        with self._connection.wrap_database_errors:
            return self._connection.connection.execute(self._native, parameters)
