"""Replaces a SQLite database that nobody is using, and keeps the old one under another name."""

from __future__ import annotations

import os
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from chatui.backups import files
from chatui.backups.files import BackupError

_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@dataclass(slots=True)
class CurrentDatabase:
    """The database to replace, locked until ``close``. ``connection``: None if there is no database, or it is damaged."""

    path: Path
    connection: sqlite3.Connection | None

    def replace(self, by: Path, former: Path) -> bool:
        """Atomically replace it with the database ``by``. Returns whether there was an old one, which is now at ``former``."""
        was_there = self.path.exists()
        # A damaged database keeps its write-ahead log, which must not be applied to the new one.
        for suffix in files.SIDECARS:
            if (sidecar := Path(f"{self.path}{suffix}")).exists():
                os.replace(sidecar, f"{former}{suffix}")
        if was_there:
            _link(self.path, former)
            former.chmod(0o600)
        os.replace(by, self.path)
        files.sync(self.path.parent)
        return was_there

    def close(self) -> None:
        """Release the lock."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def lock(path: Path) -> CurrentDatabase:
    """Lock a database, and merge its write-ahead log into it. Raises BackupError if any other process has it open."""
    if not path.exists():
        return CurrentDatabase(path, None)
    connection = files.connect(path)
    try:
        # Leaving WAL mode only succeeds if this is the database's only connection.
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        connection.close()
        if (error.sqlite_errorcode & 0xFF) in _IN_USE:
            raise BackupError(f"Another process has {path.name} open. Stop the server and every other command first.") from None
        return CurrentDatabase(path, None)
    return CurrentDatabase(path, connection)


def _link(path: Path, former: Path) -> None:
    """Create a hard link, so that a database exists at every moment: otherwise a server that starts meanwhile would create an empty one."""
    try:
        os.link(path, former)
    except OSError:  # a file system without links
        with path.open("rb") as source, files.private_file(former) as target:
            shutil.copyfileobj(source, target, 1024 * 1024)
