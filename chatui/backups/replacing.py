"""Replaces a database that nobody is using, and keeps the old one under another name."""

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
class Current:
    """The database that is to be replaced, locked while this is open. ``connection``: None where there is none, or a damaged one."""

    path: Path
    connection: sqlite3.Connection | None

    def replace(self, by: Path, kept: Path) -> bool:
        """Put another database in its place, in one step; returns whether there was one, which has the name ``kept`` from now on."""
        was_there = self.path.exists()
        # A damaged database keeps its log, and the new one must not find it.
        for ending in files.SIDECARS:
            if (beside := Path(f"{self.path}{ending}")).exists():
                os.replace(beside, f"{kept}{ending}")
        if was_there:
            _link(self.path, kept)
            kept.chmod(0o600)
        os.replace(by, self.path)
        files.to_disk(self.path.parent)
        return was_there

    def close(self) -> None:
        """Let others use it again."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def claim(path: Path) -> Current:
    """Lock a database, and merge its write-ahead log into it. Raises BackupError if any other process has it open."""
    if not path.exists():
        return Current(path, None)
    connection = files.opened(path)
    try:
        # Only the one connection that a database has may leave the mode with a write-ahead log.
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        connection.close()
        if (error.sqlite_errorcode & 0xFF) in _IN_USE:
            raise BackupError(f"Another process has {path.name} open. Stop the server and every other command first.") from None
        return Current(path, None)
    return Current(path, connection)


def _link(path: Path, kept: Path) -> None:
    """A second name, so that at no moment there is no database: a server that started then would make an empty one."""
    try:
        os.link(path, kept)
    except OSError:  # a file system without links
        with path.open("rb") as source, files.private_file(kept) as target:
            shutil.copyfileobj(source, target, 1024 * 1024)
