"""Restores a backup. It is prepared next to the database, where all later erasures are repeated, and then replaces it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from chatui.audit_log import chain
from chatui.audit_log.chain import Head
from chatui.audit_log.record import SHELL, record
from chatui.backups import encryption, files, replacing, revocations
from chatui.backups.files import BackupError, Counts
from chatui.backups.replacing import CurrentDatabase
from chatui.database import file_locks
from chatui.erasure import erasure_list
from chatui.erasure.erasure_list import Erasure
from chatui.erasure.person import ACTION as ERASED
from chatui.erasure.person import erase
from chatui.models import Invitation, PasswordLink
from chatui.store.temporary import lifetime

ACTION = "backup restored"
_HEAD = "SELECT number, hash FROM chatui_auditevent ORDER BY number DESC LIMIT 1"
_ERASURES = "SELECT detail, owner_name, at FROM chatui_auditevent WHERE action = ? ORDER BY number"


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """The operator's options for a restore: the private keys, the listed erasures (None: no list was given), whether the operator says
    that there is no list, and whether a broken audit log is accepted."""

    keys: Sequence[Any] = ()
    erasures: Sequence[Erasure] | None = None
    without_erasures: bool = False
    accept_broken_log: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """The result. ``erased``: how many people were erased again. ``revoked_again``: how many accounts, keys and links that were valid in
    the backup were closed or revoked again; None if unknown. ``former``: the path of the former database; None if there was none.
    """

    counts: Counts
    erased: int
    revoked_again: int | None
    former: Path | None


def restore(backup: Path, options: RestoreOptions) -> Restored:
    """Replace the database with a backup.

    Raises:
        BackupError: the backup cannot be restored; the database is unchanged.
    """
    database = files.database_file()
    connection.close()
    try:
        with file_locks.take(database, file_locks.SERVING), closing(replacing.lock(database)) as current:
            return _restore(backup, current, options)
    except file_locks.TakenError:
        raise BackupError("A server is running on this database. Stop it first.") from None
    except OSError as error:
        raise BackupError(f"The backup cannot be restored: {error.strerror or error}.") from error
    except (sqlite3.Error, DatabaseError) as error:
        raise BackupError(f"SQLite reports an error: {error}.") from error


def _restore(backup: Path, current: CurrentDatabase, options: RestoreOptions) -> Restored:
    prepared = Path(f"{current.path}.restoring")
    files.discard(prepared)  # left by a process that was killed
    try:
        _unpack(backup, prepared, options.keys)
        files.check(prepared)
        erasures = _erasures(prepared, current, options)
        access = (
            revocations.active_access(current.connection)
            if current.connection and _recorded_erasures(current.connection, prepared) is not None
            else None
        )
        with files.used_by_django(prepared):
            erased = _prepare(current, erasures, options)
            revoked = revocations.revoke_again(access) if access else None
        files.merge_and_sync(prepared)
        counts = files.check(prepared)
        former = current.path.with_name(f"{current.path.name}.before-{datetime.now(UTC):%Y%m%d-%H%M%S}")
        was_there = current.replace(prepared, former)
    finally:
        files.discard(prepared)
        Path(f"{prepared}.{file_locks.MIGRATING}").unlink(missing_ok=True)  # left by ``migrate``; no other process uses it
    return Restored(counts, erased, revoked, former if was_there else None)


def _unpack(backup: Path, prepared: Path, keys: Sequence[Any]) -> None:
    is_encrypted = encryption.is_encrypted(backup)
    if is_encrypted and not keys:
        raise BackupError("The backup is encrypted: --identity must name the file with the private key.")
    with backup.open("rb") as source, files.private_file(prepared) as target:
        if is_encrypted:
            encryption.decrypt(source, target, list(keys))
        else:
            shutil.copyfileobj(source, target, 1024 * 1024)
    # A database that was copied by hand may have an unmerged write-ahead log, which is part of it.
    log = Path(f"{backup}-wal")
    if log.exists():
        with log.open("rb") as source, files.private_file(Path(f"{prepared}-wal")) as target:
            shutil.copyfileobj(source, target, 1024 * 1024)


def _erasures(prepared: Path, current: CurrentDatabase, options: RestoreOptions) -> list[Erasure]:
    """The erasures since the backup: from the lists, and from the current database if it continues the backup's audit log."""
    known = list(options.erasures or ())
    if current.connection is not None and (since := _recorded_erasures(current.connection, prepared)) is not None:
        return known + since
    if options.erasures is None and not options.without_erasures:
        raise BackupError(
            "It is unknown who was erased since this backup, because the current database does not continue it. Name the list that "
            "manage.py erasures export wrote (--erasures FILE), or restore without one (--without-erasures)."
        )
    return known


def _recorded_erasures(current: sqlite3.Connection, prepared: Path) -> list[Erasure] | None:
    """The erasures in the current database's audit log; None if it does not continue the backup's, or cannot be read."""
    with closing(files.connect(prepared)) as database:
        head = database.execute(_HEAD).fetchone()
    try:
        if head is None or current.execute("SELECT 1 FROM chatui_auditevent WHERE number = ? AND hash = ?", head).fetchone() is None:
            return None
        return list(erasure_list.erasures_of(current.execute(_ERASURES, [ERASED]).fetchall()))
    except sqlite3.DatabaseError:
        return None


def _prepare(current: CurrentDatabase, erasures: list[Erasure], options: RestoreOptions) -> int:
    """Migrate the tables, verify the log, end sessions and one-time links, and repeat erasures. Returns the number of erased people."""
    loader = MigrationLoader(connection)
    newer = sorted(
        name for app, name in (loader.applied_migrations or ()) if app == "chatui" and ("chatui", name) not in loader.disk_migrations
    )
    if newer:
        raise BackupError(f"The backup was created by a newer version of the product (it has {newer[-1]}).")
    call_command("migrate", verbosity=0)
    report = chain.verify()
    if not report.is_intact and not options.accept_broken_log:
        raise BackupError("The audit log of the backup is not intact. --accept-broken-log restores it anyway.")
    # Some sessions and links were ended, used or revoked since the backup.
    Session.objects.all().delete()
    now = timezone.now()
    Invitation.objects.filter(used_at=None, revoked_at=None).update(revoked_at=now)
    PasswordLink.objects.filter(used_at=None).update(expires_at=now)
    lifetime.end_all()
    people = erasure_list.restored(erasures)
    record(ACTION, SHELL, detail=_audit_detail(report.head, current))
    for person in people:
        erase(SHELL, person)
    return len(people)


def _audit_detail(head: Head | None, current: CurrentDatabase) -> str:
    """The detail for the audit log: where it continues, and which log it replaces."""
    lost = None
    if current.connection is not None:
        try:
            lost = current.connection.execute(_HEAD).fetchone()
        except sqlite3.DatabaseError:
            lost = None
    was = f"line {lost[0]} with {lost[1]}" if lost else "unknown"
    return f"made at line {head.number if head else 0}; the log before it ended at {was}"
