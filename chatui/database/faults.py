"""Database faults: which are temporary, which error callers get, what operators are told of them, and when the last one occurred."""

from __future__ import annotations

import sqlite3
import time

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from chatui.codes import ProductCode
from renderer.errors import ErrorCode

FAULTS = (OperationalError, InterfaceError)
"""The errors of a database that is locked, full or unavailable."""

_OWN_FAULT_CLASSES = ("40", "55", "57014")
"""SQLSTATEs of PostgreSQL after which the connection is still usable: deadlock, lock not available, statement timeout."""

_BAD_OPTION = ("invalid connection option", "bad value for")
_NO_TABLE, _NO_PRIVILEGE = "42P01", "42501"


class DatabaseBusyError(Exception):
    """The database did not finish in time. ``code`` has the message for the person."""

    def __init__(self, code: ErrorCode = ProductCode.SERVER_BUSY) -> None:
        super().__init__(code.value)
        self.code = code


def is_transient(error: BaseException) -> bool:
    """Whether trying again later can help: the database is locked, full or unavailable. SQLite raises the same class for invalid SQL, where
    it cannot.
    """
    return isinstance(error, FAULTS) and getattr(error.__cause__, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR


def is_full(error: BaseException) -> bool:
    if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return True
    return _sqlstate(error).startswith("53100") or "disk is full" in str(error)


def ends_one_statement(error: BaseException) -> bool:
    """Whether only this statement failed, so that the transaction can continue from its last savepoint."""
    return isinstance(error, OperationalError) and _sqlstate(error).startswith(_OWN_FAULT_CLASSES)


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
    if isinstance(error, DatabaseError) and (_sqlstate(error) == _NO_TABLE or says.startswith("no such table")):
        return f"{_place()} has no tables of this product: run manage.py migrate, or correct the setting that names the database."
    if isinstance(error, DatabaseError) and says.startswith(_BAD_OPTION):
        return f"{_place()} cannot be used: {says.partition(':')[0]}."  # the value may be secret
    if isinstance(error, FAULTS) or "not a database" in says or "malformed" in says or _sqlstate(error) == _NO_PRIVILEGE:
        return f"{_place()} cannot be used: {says}."
    return ""


def _place() -> str:
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"The database {database['NAME']} (CHATUI_DATA_DIR)"
    return f"PostgreSQL at {database['HOST'] or 'the local socket'}:{database['PORT'] or 5432} (CHATUI_DATABASE_URL)"


def _sqlstate(error: BaseException) -> str:
    return str(getattr(error.__cause__, "sqlstate", None) or "")


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
