"""Somebody else at the test's own SQLite file: a lock that another process holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def write_lock() -> Iterator[None]:
    """Nobody else writes until the block ends, as while another process is in a long transaction."""
    other = sqlite3.connect(str(connection.settings_dict["NAME"]), timeout=30, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()
