"""A write lock on the test's SQLite file, as if another process held it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

needs_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="Only SQLite has one lock for all writes.")


@contextmanager
def write_lock() -> Iterator[None]:
    """Prevents all other writes until the block ends, like a long transaction of another process."""
    other = sqlite3.connect(str(connection.settings_dict["NAME"]), timeout=30, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()
