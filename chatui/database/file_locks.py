"""Lock files beside a SQLite database, for tasks that only one process may do at a time: serve, migrate, back up, restore, purge; and one
beside the directory of static files.

The operating system releases a lock when its process ends, even after a crash. SQLite's own locks only last for a statement.
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
PURGING = "purging"
COLLECTING = "collecting"
"""Held while static files are collected, and until a process that serves them has listed them."""


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
