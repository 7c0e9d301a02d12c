"""``manage.py migrate``: Django's command, but one process at a time. A second one waits, and then finds nothing left to do."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from chatui.database import file_locks, versions


class Command(migrate.Command):
    """Runs migrations under a lock, unless this version cannot continue from the tables.

    Without the lock, processes that start together would all migrate: each plans its migrations before it begins, so the second would
    repeat them.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        with file_locks.alone(connection, file_locks.MIGRATING, wait=True):
            versions.refuse_older(connection)
            if newer := versions.newer(connection):
                raise CommandError(newer)
            super().handle(*args, **options)
