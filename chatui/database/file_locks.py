"""Lock files beside a SQLite database, for tasks that only one process may do at a time: serve, migrate, back up, restore, purge,
reindex; and one beside the directory of static files. With PostgreSQL, the database itself holds the lock.

The operating system, or the database, releases a lock when its process ends, even after a crash. SQLite's own locks only last for a
statement.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.db.backends.base.base import BaseDatabaseWrapper

SERVING = "serving"
"""Held by the one process that serves the database, and while a backup is restored."""
MIGRATING = "migrating"
BACKING_UP = "backing-up"
PURGING = "purging"
REINDEXING = "reindexing"
COLLECTING = "collecting"
"""Held while static files are collected, and until a process that serves them has listed them."""

_NUMBERS = {MIGRATING: 0x6D696772, PURGING: 0x70757267, REINDEXING: 0x72656964}
"""The numbers of PostgreSQL's locks: any that no other program uses; the audit log uses another."""


class LockTakenError(Exception):
    """Another process holds the lock."""


def take(place: Path, purpose: str, *, wait: bool = False) -> IO[str]:
    """Acquire a lock. It lasts until the returned file is closed, or the process ends.

    Raises:
        LockTakenError: another process has it, and ``wait`` is False.
        OSError: the lock file, beside ``place``, cannot be opened.
    """
    # The file is never deleted: another process might be waiting for it.
    descriptor = os.open(f"{place.resolve()}.{purpose}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise LockTakenError from None
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "r+")


@contextmanager
def alone(connection: BaseDatabaseWrapper, purpose: str, *, wait: bool = False) -> Iterator[bool]:
    """Whether no other process does this with the database of the connection; then none begins meanwhile. ``wait``: until no other does."""
    if connection.vendor == "sqlite":
        try:
            with take(Path(connection.settings_dict["NAME"]), purpose, wait=wait):
                yield True
        except LockTakenError:
            yield False
        return
    # This connection holds the lock: if it is lost, so are the lock and the work.
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_{'' if wait else 'try_'}advisory_lock(%s)", [_NUMBERS[purpose]])
        is_alone = wait or bool(cursor.fetchone()[0])
    try:
        yield is_alone
    finally:
        if is_alone and connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_NUMBERS[purpose]])
