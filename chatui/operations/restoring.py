"""Restores a backup. It is prepared next to the database, where all later erasures are repeated, and then replaces it.

A SQLite database is replaced only while nobody is using it, and the old one is kept under another name.

The closing of accounts and the revoking of API keys and share links since the backup are repeated as well. The replaced database has this
information. A row that it lacks was deleted, which counts as revoked.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from chatui.accounts import api_keys
from chatui.audit_log import chain
from chatui.audit_log.chain import ChainHead
from chatui.audit_log.record import SHELL, record
from chatui.database import connections, file_locks, versions
from chatui.lifecycle import erasure
from chatui.lifecycle.closing import CannotCloseError, close_account
from chatui.lifecycle.erasure import ACTION as ERASED
from chatui.lifecycle.erasure import Erasure, erase
from chatui.models.invitations import Invitation
from chatui.models.programs import ApiKey
from chatui.models.shares import ShareLink
from chatui.models.sign_in import PasswordLink
from chatui.models.tool_sign_in import ToolSignIn
from chatui.models.user import ClosingCause, User
from chatui.operations import backups, machine_keys
from chatui.operations.backups import BackupError, Counts
from chatui.program import command
from chatui.store import temporary
from chatui.tools import confirmations

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
        for suffix in backups.SIDECARS:
            if (sidecar := Path(f"{self.path}{suffix}")).exists():
                os.replace(sidecar, f"{former}{suffix}")
        if was_there:
            _link(self.path, former)
            former.chmod(0o600)
        os.replace(by, self.path)
        backups.sync(self.path.parent)
        return was_there

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def lock(path: Path) -> CurrentDatabase:
    """Lock a database, and merge its write-ahead log into it. Raises BackupError if any other process has it open."""
    if not path.exists():
        return CurrentDatabase(path, None)
    connection = backups.connect(path)
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
        with path.open("rb") as source, backups.private_file(former) as target:
            shutil.copyfileobj(source, target, 1024 * 1024)


_CLOSED = "SELECT id FROM chatui_user WHERE NOT is_active"
_KEYS = "SELECT id FROM chatui_apikey WHERE revoked_at IS NULL"
_LINKS = "SELECT id FROM chatui_sharelink WHERE revoked_at IS NULL"
_TOOLS = "SELECT name FROM chatui_toolconfirmation WHERE digest = ''"


@dataclass(frozen=True, slots=True)
class ActiveAccess:
    """The state of access in the replaced database: ``closed`` accounts, and valid ``keys`` and ``links``, by id; and the names of
    ``withdrawn`` tools."""

    closed: frozenset[UUID]
    keys: frozenset[UUID]
    links: frozenset[UUID]
    withdrawn: frozenset[str]


def active_access(current: sqlite3.Connection) -> ActiveAccess | None:
    """Read the state from the current database; None if that fails."""
    try:
        closed, keys, links = (frozenset(UUID(key) for (key,) in current.execute(query)) for query in (_CLOSED, _KEYS, _LINKS))
        has_tools = current.execute("SELECT 1 FROM sqlite_master WHERE name = 'chatui_toolconfirmation'").fetchone()
        withdrawn = frozenset(name for (name,) in current.execute(_TOOLS)) if has_tools else frozenset()
        return ActiveAccess(closed, keys, links, withdrawn)
    except (sqlite3.DatabaseError, ValueError, TypeError):
        return None


def revoke_again(access: ActiveAccess) -> int:
    """Repeat the revocations in the database that Django uses now. Returns the number of accounts, keys, links and tools. All but links are
    recorded. The last account manager's account remains open, which is also recorded.
    """
    people = [person for person in User.objects.filter(is_active=True) if person.pk in access.closed]
    count = sum(_close(person) for person in people)
    keys = [row for row in ApiKey.objects.filter(revoked_at=None).select_related("owner") if row.pk not in access.keys]
    count += api_keys.revoke(SHELL, keys)
    for key in ShareLink.objects.filter(revoked_at=None).values_list("pk", flat=True):
        if key not in access.links:
            count += ShareLink.objects.filter(pk=key).update(revoked_at=timezone.now())
    return count + sum(map(confirmations.withdraw, sorted(access.withdrawn)))


def _close(person: User) -> bool:
    try:
        return close_account(person, ClosingCause.OPERATOR, SHELL)
    except CannotCloseError:
        return False


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
    """The result."""

    counts: Counts
    erased: int
    """How many people were erased again."""
    revoked_again: int | None
    """How many accounts, keys, links and confirmations of tools that were valid in the backup were closed, revoked or withdrawn again; None
    if unknown."""
    former: Path | None
    """The path of the former database; None if there was none."""


def restore(backup: Path, options: RestoreOptions) -> Restored:
    """Replace the database with a backup.

    Raises:
        BackupError: the backup cannot be restored; the database is unchanged.
        CommandError: ``migrate`` refused the backup; the database is unchanged.
    """
    database = backups.database_file()
    connection.close()
    try:
        with file_locks.take(database, file_locks.SERVING), closing(lock(database)) as current:
            return _restore(backup, current, options)
    except file_locks.LockTakenError:
        raise BackupError("A server is running on this database. Stop it first.") from None
    except OSError as error:
        raise BackupError(f"The backup cannot be restored: {error.strerror or error}.") from error
    except (sqlite3.Error, DatabaseError) as error:
        raise BackupError(f"SQLite reports an error: {error}.") from error


def _restore(backup: Path, current: CurrentDatabase, options: RestoreOptions) -> Restored:
    prepared = Path(f"{current.path}.restoring")
    backups.discard(prepared)  # left by a process that was killed
    try:
        _unpack(backup, prepared, options.keys)
        backups.check(prepared)
        erasures = _erasures(prepared, current, options)
        access = (
            active_access(current.connection)
            if current.connection and _recorded_erasures(current.connection, prepared) is not None
            else None
        )
        with backups.used_by_django(prepared):
            erased = _prepare(current, erasures, options)
            revoked = revoke_again(access) if access else None
        backups.merge_and_sync(prepared)
        counts = backups.check(prepared)
        former = current.path.with_name(f"{current.path.name}.before-{datetime.now(UTC):%Y%m%d-%H%M%S}")
        was_there = current.replace(prepared, former)
    finally:
        backups.discard(prepared)
        Path(f"{prepared}.{file_locks.MIGRATING}").unlink(missing_ok=True)  # left by ``migrate``; no other process uses it
    return Restored(counts, erased, revoked, former if was_there else None)


def _unpack(backup: Path, prepared: Path, keys: Sequence[Any]) -> None:
    is_encrypted = backups.is_encrypted(backup)
    if is_encrypted and not keys:
        raise BackupError("The backup is encrypted: --identity must name the file with the private key.")
    with backup.open("rb") as source, backups.private_file(prepared) as target:
        if is_encrypted:
            backups.decrypt(source, target, list(keys))
        else:
            shutil.copyfileobj(source, target, 1024 * 1024)
    # A database that was copied by hand may have an unmerged write-ahead log, which is part of it.
    log = Path(f"{backup}-wal")
    if log.exists():
        with log.open("rb") as source, backups.private_file(Path(f"{prepared}-wal")) as target:
            shutil.copyfileobj(source, target, 1024 * 1024)


def _erasures(prepared: Path, current: CurrentDatabase, options: RestoreOptions) -> list[Erasure]:
    """The erasures since the backup: from the lists, and from the current database if it continues the backup's audit log."""
    known = list(options.erasures or ())
    if current.connection is not None and (since := _recorded_erasures(current.connection, prepared)) is not None:
        return known + since
    if options.erasures is None and not options.without_erasures:
        raise BackupError(
            "It is unknown who was erased since this backup, because the current database does not continue it. Name the list that "
            f"{command('erasures export')} wrote (--erasures FILE), or restore without one (--without-erasures)."
        )
    return known


def _recorded_erasures(current: sqlite3.Connection, prepared: Path) -> list[Erasure] | None:
    """The erasures in the current database's audit log; None if it does not continue the backup's, or cannot be read."""
    with closing(backups.connect(prepared)) as database:
        head = database.execute(_HEAD).fetchone()
    try:
        if head is None or current.execute("SELECT 1 FROM chatui_auditevent WHERE number = ? AND hash = ?", head).fetchone() is None:
            return None
        return list(erasure.erasures_of(current.execute(_ERASURES, [ERASED]).fetchall()))
    except sqlite3.DatabaseError:
        return None


def _prepare(current: CurrentDatabase, erasures: list[Erasure], options: RestoreOptions) -> int:
    """Migrate the tables, verify the log, end sessions and one-time links, and repeat erasures. Returns the number of erased people."""
    if newer := versions.unknown(MigrationRecorder(connection).applied_migrations()):
        raise BackupError(f"The backup was created by a newer version of the product (it has {newer[-1]}).")
    call_command("migrate", verbosity=0)
    report = chain.verify()
    if not report.is_intact and not options.accept_broken_log:
        raise BackupError("The audit log of the backup is not intact. --accept-broken-log restores it anyway.")
    # Some sessions and links were ended, used or revoked since the backup.
    Session.objects.all().delete()
    Invitation.objects.filter(used_at=None, revoked_at=None).update(revoked_at=timezone.now())
    PasswordLink.objects.filter(used_at=None).update(expires_at=connections.now())
    ToolSignIn.objects.all().delete()  # their tokens may have been replaced since, and an old one would end the sign-in at its server
    temporary.end_all()
    machine_keys.forget()
    people = erasure.restored(erasures)
    record(ACTION, SHELL, detail=_audit_detail(report.head, current))
    for person in people:
        erase(SHELL, person)
    return len(people)


def _audit_detail(head: ChainHead | None, current: CurrentDatabase) -> str:
    """The detail for the audit log: where it continues, and which log it replaces."""
    lost = None
    if current.connection is not None:
        try:
            lost = current.connection.execute(_HEAD).fetchone()
        except sqlite3.DatabaseError:
            lost = None
    was = f"line {lost[0]} with {lost[1]}" if lost else "unknown"
    return f"made at line {head.number if head else 0}; the log before it ended at {was}"
