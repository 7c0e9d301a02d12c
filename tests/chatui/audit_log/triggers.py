"""Removes the audit log's database triggers for a while: to empty tables after a test, and to act as an attacker who can do so."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache

from django.db import connection, transaction

MADE_BY_MIGRATIONS = {"django_content_type", "auth_permission"}
"""Their rows stay: to make every permission again costs more than most tests."""
GUARDED = "chatui_auditevent"


@contextmanager
def without_triggers() -> Iterator[None]:
    """On SQLite, which all tests but those of the services use. The guards come back as they were."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = '{GUARDED}'")
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for _, statement in triggers:
                cursor.execute(statement)


def empty_tables() -> None:
    """Delete every row but those of migrations. Only tables that have some are written to."""
    with connection.cursor() as cursor:
        cursor.execute(_asking_for_rows())
        filled = [name for (name,) in cursor.fetchall()]
    with without_triggers() if GUARDED in filled else nullcontext(), transaction.atomic(), connection.cursor() as cursor:
        for table in filled:
            cursor.execute(f'DELETE FROM "{table}"')


@cache
def _asking_for_rows() -> str:
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False)) - MADE_BY_MIGRATIONS
    return " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in sorted(tables))
