"""``manage.py migrate``: Django's command, but one process at a time. A second one waits, and then finds nothing left to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from chatui.database import file_locks, versions

_LOCK = 0x6D696772  # any number that no other program uses; the audit log uses another


class Command(migrate.Command):
    """Runs migrations under a lock, unless this version cannot continue from the tables.

    Without the lock, processes that start together would all migrate: each plans its migrations before it begins, so the second would
    repeat them.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Django's command while holding the lock."""
        connection = connections[options["database"]]
        with _locked(connection):
            versions.refuse_separate_steps(connection)
            if newer := versions.newer(connection):
                raise CommandError(newer)
            super().handle(*args, **options)


@contextmanager
def _locked(connection: BaseDatabaseWrapper) -> Iterator[None]:
    if connection.vendor == "sqlite":
        with file_locks.take(Path(connection.settings_dict["NAME"]), file_locks.MIGRATING, wait=True):
            yield
        return
    # The migrating connection holds the lock: if the connection is lost, so are the lock and the migration.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
    try:
        yield
    finally:
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
