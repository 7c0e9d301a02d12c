"""``manage.py reindex``: lets searches find in older messages and documents what they find in new ones. ``serve`` starts it by itself."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection

from chatui.database import file_locks
from chatui.store import reindexing


class Command(BaseCommand):
    """It may be ended at any time: the next run continues."""

    help = "Write the search index of older messages and documents anew, as some upgrades require. serve does so by itself."

    def handle(self, *args: Any, **options: Any) -> None:
        with file_locks.alone(connection, file_locks.REINDEXING) as is_alone:
            if not is_alone:
                self.stdout.write("Another process does so now.")
                return
            self.stdout.write(f"Indexed {reindexing.run()} messages, titles and passages again.")
