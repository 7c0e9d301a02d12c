"""Database faults: which are temporary, which error callers get, and when the last one occurred."""

from __future__ import annotations

import sqlite3
import time

from django.db import InterfaceError, OperationalError

from chatui.codes import ProductCode
from renderer.errors import ErrorCode

FAULTS = (OperationalError, InterfaceError)
"""The errors of a database that is locked, full or unavailable."""

_OWN_FAULT_CLASSES = ("40", "55", "57014")
"""SQLSTATEs of PostgreSQL after which the connection is still usable: deadlock, lock not available, statement timeout."""


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
    """Whether the disk or the database is full."""
    if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return True
    return _sqlstate(error).startswith("53100") or "disk is full" in str(error)


def ends_one_statement(error: BaseException) -> bool:
    """Whether only this statement failed, so that the transaction can continue from its last savepoint."""
    return isinstance(error, OperationalError) and _sqlstate(error).startswith(_OWN_FAULT_CLASSES)


def busy_error(error: BaseException) -> DatabaseBusyError:
    """The error for a caller who cannot wait until the fault is over."""
    return DatabaseBusyError(ProductCode.STORAGE_FULL if is_full(error) else ProductCode.SERVER_BUSY)


def _sqlstate(error: BaseException) -> str:
    return str(getattr(error.__cause__, "sqlstate", None) or "")


class Outages:
    """When the database last did not respond to this process. Owners of leases need time afterwards to renew them."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def record(self) -> None:
        """Record that the database does not respond now."""
        self._last = time.monotonic()

    def seconds_since(self) -> float:
        """The seconds since the last outage; infinite if there was none."""
        return time.monotonic() - self._last


outages = Outages()
