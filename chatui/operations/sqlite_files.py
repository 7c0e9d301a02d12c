"""Copies SQLite database files while they are in use, syncs them to disk, and checks them. Only their owner can read new files."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from django.core.management.base import CommandError
from django.db import connection

SIDECARS = ("-wal", "-shm", "-journal")
"""The suffixes of files that SQLite stores next to a database. Next to another database, they would corrupt it."""


class BackupError(CommandError):
    """A backup cannot be created or restored. The message is a sentence for the operator, which the commands end with."""


@dataclass(frozen=True, slots=True)
class Counts:
    accounts: int
    conversations: int
    messages: int

    def __str__(self) -> str:
        return f"{self.accounts} accounts, {self.conversations} conversations, {self.messages} messages"


def database_file() -> Path:
    """The product's own SQLite file. Raises BackupError if it uses PostgreSQL."""
    if connection.vendor != "sqlite":
        raise BackupError("This database is PostgreSQL: use pg_dump and pg_restore, as in docs/operating.md.")
    return Path(connection.settings_dict["NAME"]).resolve()


def private_file(path: Path) -> BinaryIO:
    """Create a file that only its owner can read, open for writing. Raises FileExistsError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def copy_live(source: Path, target: Path) -> None:
    """Copy a consistent snapshot of a database, including its write-ahead log, while others continue to write.

    ``target`` must not exist.
    """
    private_file(target).close()
    with closing(sqlite3.connect(f"file:{quote(str(source))}?mode=rw", uri=True, timeout=20)) as live, closing(connect(target)) as copy:
        live.backup(copy)  # in one step, in one read transaction: between smaller steps, each write of others would restart the copy
    merge_and_sync(target)


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection that is independent of Django's."""
    return sqlite3.connect(path, timeout=5, isolation_level=None)


def merge_and_sync(path: Path) -> None:
    """Merge the files of a database that nobody uses into one, and sync it to disk."""
    with closing(connect(path)) as database:
        database.execute("PRAGMA journal_mode=DELETE")
    left = [suffix for suffix in SIDECARS if Path(f"{path}{suffix}").exists()]
    if left:
        raise BackupError(f"{path.name}{left[0]} could not be merged into the database.")
    sync(path)


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a directory, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard(path: Path) -> None:
    """Delete a database file and the files that SQLite stores next to it."""
    for suffix in ("", *SIDECARS):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


@contextmanager
def used_by_django(path: Path) -> Iterator[None]:
    """Within this context, Django's models use this file, in this thread."""
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = str(path)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


def check(path: Path) -> Counts:
    """Check the whole file: run SQLite's integrity check, and count rows of this product's tables. Raises BackupError."""
    try:
        with closing(connect(path)) as database:
            problems = [row[0] for row in database.execute("PRAGMA integrity_check(3)")]
            if problems != ["ok"]:
                raise BackupError(f"The database in the file is damaged: {problems[0]}.")
            tables = ("chatui_user", "chatui_conversation", "chatui_message")
            return Counts(*(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables))  # noqa: S608 - constants
    except sqlite3.DatabaseError as error:
        raise BackupError(f"The file is not a database of this product, or it is damaged ({error}).") from error
