"""Creates a backup: copies a snapshot of the database, checks the copy like a restore does, encrypts it and stores it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import DatabaseError

from chatui.audit_log import chain
from chatui.audit_log.record import SHELL, record
from chatui.backups import encryption, files
from chatui.backups.files import BackupError, Counts
from chatui.database import file_locks

ACTION = "backup made"


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup.

    ``report``: the verification of its audit log. A backup with a broken log is stored anyway, because it is better than none.
    """

    path: Path
    counts: Counts
    report: chain.Report


def create(place: Path, keys: Sequence[Any] = ()) -> Backup:
    """Create a backup in a new file, or in a directory under a name with the current time. ``keys``: see ``encryption.recipients``.

    Raises:
        BackupError: it could not be created, or the copy is damaged. No file is left behind.
    """
    database = files.database_file()
    target = _target(place, is_encrypted=bool(keys))
    try:
        with file_locks.take(database, file_locks.BACKING_UP):
            return _create(database, target, keys)
    except file_locks.TakenError:
        raise BackupError("Another process is creating a backup.") from None
    except OSError as error:
        raise BackupError(f"The backup cannot be written: {error.strerror or error}.") from error
    except (sqlite3.Error, DatabaseError) as error:
        raise BackupError(f"SQLite reports an error: {error}.") from error


def _create(database: Path, target: Path, keys: Sequence[Any]) -> Backup:
    # Recorded first, so that the line is in the backup as well, because the file exposes every hidden channel.
    record(ACTION, SHELL, detail="encrypted" if keys else "not encrypted")
    # Next to the database, not in the target directory, which may be on another machine: the copy is not encrypted yet.
    copy = Path(f"{database}.backup")
    files.discard(copy)  # left by a process that was killed
    try:
        files.copy_live(database, copy)
        counts = files.check(copy)
        with files.used_by_django(copy):
            report = chain.verify()
        files.merge_and_sync(copy)
        _store(copy, target, keys)
    finally:
        files.discard(copy)
    return Backup(target, counts, report)


def _store(copy: Path, target: Path, keys: Sequence[Any]) -> None:
    """Store the file atomically, without overwriting an existing one."""
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with copy.open("rb") as source, files.private_file(partial) as file:
            if keys:
                encryption.encrypt(source, file, list(keys))
            else:
                shutil.copyfileobj(source, file, 1024 * 1024)
        files.sync(partial)
        _refuse_existing(target)
        os.replace(partial, target)
        files.sync(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def _target(place: Path, *, is_encrypted: bool) -> Path:
    if place.is_dir():
        place = place / f"chatui-{datetime.now(UTC):%Y%m%d-%H%M%S}.sqlite3{'.age' if is_encrypted else ''}"
    _refuse_existing(place)
    return place.absolute()


def _refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise BackupError(f"{path} exists already. Backups never overwrite files.")
