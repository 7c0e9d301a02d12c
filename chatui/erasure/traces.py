"""Removes the data that deleted rows leave in the database's files."""

from __future__ import annotations

from django.db import connection
from django.utils.translation import gettext_noop as noop

from chatui.store import search_index

_TRIES = 3

BUSY = noop(
    "The write-ahead log could not be emptied, because a reader still uses an earlier state of the database, so it still contains "
    "erased text. manage.py purge tries again."
)
POSTGRESQL = noop(
    "PostgreSQL keeps deleted rows in its files until VACUUM has run and their space is reused; VACUUM FULL rewrites the files."
)


def wipe(*, vacuum: bool = False) -> str:
    """Remove deleted data from the database's files. Returns a sentence for the operator if that failed; else an empty text.

    SQLite overwrites deleted data with zeros (``secure_delete`` in the settings). What remains are words in the search index, until it is
    merged, and pages in the write-ahead log. ``vacuum`` also rewrites the whole file: that frees space and removes data that was deleted
    before the setting existed, but blocks all writes meanwhile.
    """
    if connection.vendor != "sqlite":
        return POSTGRESQL
    search_index.tidy()
    if connection.in_atomic_block:
        return BUSY
    with connection.cursor() as cursor:
        if vacuum:
            cursor.execute("VACUUM")
        # Waits for readers as long as the setting "timeout", and returns 1 if they did not finish.
        is_empty = any(cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0 for _ in range(_TRIES))
    return "" if is_empty else BUSY
