"""Database faults: which are temporary, which error callers get, what operators are told of them, and when the last one occurred.

Temporary is what the tables here list, by what the database says and not by Python's classes: those put a server that a failover left
read-only beside invalid SQL, and a statement that is too complex beside a lost connection.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection

from chatui.codes import ProductCode
from chatui.program import command
from renderer.errors import ErrorCode

log = logging.getLogger(__name__)

FAULTS = (OperationalError, InterfaceError, InternalError)
"""The errors that a database raises which is locked, full, read-only or unavailable, and some others: ask ``is_transient``."""

TEMPORARY_STATES: dict[str, str] = {
    **dict.fromkeys(("08000", "08001", "08003", "08004", "08006", "08007", "08P01"), "no connection, or a pooler that has none left"),
    "25006": "the server accepts no writes: it recovers, or another has become the primary",
    **dict.fromkeys(("25P03", "25P04"), "the transaction was idle or open for too long, and the server has ended it"),
    **dict.fromkeys(("40000", "40001", "40003", "40P01"), "the transaction met another one: a deadlock, a serialization failure"),
    **dict.fromkeys(("53000", "53100", "53200", "53300", "53400"), "the server has no disk, memory or connection left"),
    **dict.fromkeys(("55006", "55P03"), "somebody else uses the object, or has it locked"),
    "57000": "somebody intervened",
    "57014": "the statement was cancelled, or took too long",
    **dict.fromkeys(("57P01", "57P02", "57P03", "57P05"), "the server ends, restarts or starts, or an administrator ended the connection"),
    **dict.fromkeys(("58000", "58030"), "the server's machine has an error of input or output"),
}
"""SQLSTATEs of PostgreSQL after which the same work may succeed, each with what it means.

Not: 25P02 (an error of ours came before), classes 42 (invalid SQL, a missing table or privilege) and 54 (a limit of the program), and what
is not listed.
"""

TEMPORARY_CODES: dict[int, str] = {
    sqlite3.SQLITE_BUSY: "another process has the lock",
    sqlite3.SQLITE_LOCKED: "another connection of this process has it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file or its directory cannot be written",
    sqlite3.SQLITE_IOERR: "the disk has an error",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened, as while it is replaced",
    sqlite3.SQLITE_NOMEM: "no memory is left",
    sqlite3.SQLITE_PROTOCOL: "the locks of the file are contested",
    sqlite3.SQLITE_INTERRUPT: "the deadline has passed",
    sqlite3.SQLITE_SCHEMA: "the tables were changed meanwhile",
}
"""The same for SQLite's result codes (their first eight bits: the others say in which way)."""

_OWN_FAULT_CLASSES = ("40", "55", "57014")
"""SQLSTATEs of PostgreSQL after which the connection is still usable: deadlock, lock not available, statement timeout."""

_BAD_OPTION = ("invalid connection option", "bad value for")
_NO_TEXT = "Could not decode to UTF-8"
_NO_TABLE, _NO_PRIVILEGE = "42P01", "42501"
_ROOM_OF_A_DATABASE = 1024 * 1024
"""With less, SQLite cannot even open a database: its shared memory and the first pages of its log are files beside it."""


class DatabaseBusyError(Exception):
    """The database did not finish in time. ``code`` has the message for the person."""

    def __init__(self, code: ErrorCode = ProductCode.SERVER_BUSY) -> None:
        super().__init__(code.value)
        self.code = code


def is_transient(error: BaseException) -> bool:
    """Whether trying again later can help: the database is locked, full, read-only or unavailable."""
    if not isinstance(error, FAULTS):
        return False
    if state := _sqlstate(error):
        return state in TEMPORARY_STATES
    if code := _sqlite_code(error):
        return code in TEMPORARY_CODES
    # The database said nothing: it cannot be reached, it is gone, or our own deadline has passed.
    return not isinstance(error, InternalError) and not _is_damaged_text(error)


def _is_damaged_text(error: BaseException) -> bool:
    """Whether SQLite has given bytes that are no text: Python raises this, so it has no code. Other rows can be read."""
    return str(error).startswith(_NO_TEXT)


def is_read_only(error: BaseException) -> bool:
    """Whether the connection can write nothing, whatever becomes of the server or the file: another one may."""
    return _sqlstate(error) == "25006" or _sqlite_code(error) == sqlite3.SQLITE_READONLY


def kind_of(error: BaseException) -> str:
    """What the database said, in one word for the log: an SQLSTATE, SQLite's name of its result, or else the error's class."""
    return _sqlstate(error) or str(getattr(error.__cause__, "sqlite_errorname", None) or type(error).__name__)


def is_locked(error: BaseException) -> bool:
    """Whether another process, or another connection of this one, has SQLite's lock."""
    return _sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_full(error: BaseException) -> bool:
    return _sqlite_code(error) == sqlite3.SQLITE_FULL or _sqlstate(error).startswith("53100") or "disk is full" in str(error)


def ends_one_statement(error: BaseException) -> bool:
    """Whether only this statement failed, so that the transaction can continue from its last savepoint."""
    return isinstance(error, OperationalError) and _sqlstate(error).startswith(_OWN_FAULT_CLASSES)


def is_outage(error: BaseException) -> bool:
    """Whether the next statement would fail, too: the database is away, full, read-only or locked. Otherwise it has refused one."""
    return is_transient(error) and not ends_one_statement(error)


class Refused:
    """Counts what the database refused while much is removed, one thing at a time. Each thing is logged once, however often it is tried."""

    def __init__(self) -> None:
        self.count = 0
        self._logged: set[str] = set()

    @contextmanager
    def one(self, what: str) -> Iterator[None]:
        """Remove one thing, ``what`` without content. If the database refuses that, it is logged, and the rest goes on. Raises
        DatabaseError in an outage, in which the rest would fail, too."""
        try:
            yield
        except DatabaseError as error:
            if is_outage(error):
                raise
            self.count += 1
            if what not in self._logged:
                self._logged.add(what)
                log.warning("the database refused to remove %s (%s)", what, kind_of(error))


def busy_error(error: BaseException) -> DatabaseBusyError:
    """The error for a caller who cannot wait until the fault is over."""
    return DatabaseBusyError(ProductCode.STORAGE_FULL if is_full(error) else ProductCode.SERVER_BUSY)


def explained(error: BaseException) -> str:
    """One line that tells an operator why a command cannot use the database or a file; empty for every other error.

    What PostgreSQL and SQLite say about these faults has names of databases, users and tables, but no content and no password.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    says = " ".join(str(error).split()).removeprefix("connection failed: ").rstrip(".")
    if _sqlite_code(error) == sqlite3.SQLITE_IOERR:  # also a disk without the few kilobytes that it needs beside the file, to read it
        free = shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent).free
        is_full = free < _ROOM_OF_A_DATABASE
        says = (
            f"the disk is full, {free} bytes are free" if is_full else f"the disk cannot be read or written ({says}): ask the system's log"
        )
    if isinstance(error, DatabaseError) and (_sqlstate(error) == _NO_TABLE or says.startswith("no such table")):
        return f"{_place()} has no tables of this product: run {command('migrate')}, or correct the setting that names the database."
    if _is_damaged_text(error):
        return f"{_place()} is damaged: it has text that is not UTF-8."  # the error has the text itself, which may be hidden
    if isinstance(error, DatabaseError) and says.startswith(_BAD_OPTION):
        return f"{_place()} cannot be used: {says.partition(':')[0]}."  # the value may be secret
    if (
        isinstance(error, (OperationalError, InterfaceError))
        or is_transient(error)
        or "not a database" in says
        or "malformed" in says
        or _sqlstate(error) == _NO_PRIVILEGE
    ):
        return f"{_place()} cannot be used: {says}."
    return ""


def _place() -> str:
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"The database {database['NAME']} (CHATUI_DATA_DIR)"
    return f"PostgreSQL at {database['HOST'] or 'the local socket'}:{database['PORT'] or 5432} (CHATUI_DATABASE_URL)"


def _sqlstate(error: BaseException) -> str:
    return str(getattr(error.__cause__, "sqlstate", None) or "")


def _sqlite_code(error: BaseException) -> int:
    return int(getattr(error.__cause__, "sqlite_errorcode", None) or 0) & 0xFF


class Outages:
    """When the database last did not respond to this process. Owners of leases need time afterwards to renew them."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def record(self) -> None:
        self._last = time.monotonic()

    def seconds_since(self) -> float:
        """The seconds since the last outage; infinite if there was none."""
        return time.monotonic() - self._last


outages = Outages()
