"""Lock files beside a SQLite database, for what only one process may do at a time: serve, migrate, back up, restore.

The system drops a lock with the process that holds it, however that ends. SQLite's own locks last for a statement.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

SERVING = "serving"
"""Held by the one process that serves the database, and while a backup is restored."""
MIGRATING = "migrating"
BACKING_UP = "backing-up"


class TakenError(Exception):
    """Another process holds the lock."""


def take(database: Path, purpose: str, *, wait: bool = False) -> IO[str]:
    """Take a lock; it lasts until what is returned is closed, or the process ends.

    Raises:
        TakenError: another process has it, and ``wait`` is off.
        OSError: the file of the lock, beside the database, cannot be opened.
    """
    # Never deleted: somebody might just be waiting for the file that would go.
    descriptor = os.open(f"{database.resolve()}.{purpose}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise TakenError from None
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "r+")
