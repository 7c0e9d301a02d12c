"""Takes the database's guards off the audit log for a while: for emptying tables after a test, and for attackers who can do so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def without_triggers() -> Iterator[None]:
    """On SQLite, which all tests but those of the services use. The guards come back as they were."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'chatui_auditevent'")
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for _, statement in triggers:
                cursor.execute(statement)
