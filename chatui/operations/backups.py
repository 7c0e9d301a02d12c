"""Creates a backup: copies a snapshot of the database, checks the copy like a restore does, encrypts it and stores it.

It is encrypted for the operator's keys, in the age format (https://age-encryption.org/v1). What copies database files while they are in
use, syncs them to disk and checks them serves ``restoring`` and ``moving`` as well. Only their owner can read new files.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import pyrage
from django.core.management.base import CommandError
from django.db import DatabaseError, connection

from chatui.audit_log import chain
from chatui.audit_log.record import SHELL, record
from chatui.database import file_locks
from chatui.display import system

_BEGINNINGS = (b"age-encryption.org/v1", b"-----BEGIN AGE ENCRYPTED FILE-----")
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


def is_encrypted(path: Path) -> bool:
    """Whether a file is encrypted in the age format. Raises OSError."""
    with path.open("rb") as file:
        return file.read(64).startswith(_BEGINNINGS)


def new_key(path: Path) -> str:
    """Create a private key in a new file, like age-keygen. Returns the public key, which encrypts backups. Raises OSError."""
    identity = pyrage.x25519.Identity.generate()
    public = str(identity.to_public())
    with private_file(path) as file:
        file.write(f"# public key: {public}\n{identity}\n".encode())
    return public


def recipients(named: list[str]) -> list[Any]:
    """Parse public keys of age or SSH, or names of files with one on each line. Raises BackupError, which never quotes a private key."""
    keys: list[Any] = []
    for name in named:
        try:
            lines = _lines(Path(name)) if not name.startswith(("age1", "ssh-")) else [name]
        except PermissionError as error:
            raise BackupError(f"The file of public keys {name} cannot be read: {error.strerror}.") from None
        except OSError:
            raise BackupError(f"{name} is neither a public key nor a readable file.") from None
        keys += [_recipient(line) for line in lines]
        if not keys:
            raise BackupError(f"{name} contains no public key.")
    return keys


def identities(path: Path) -> list[Any]:
    """The private keys in a file: any number of age, or one of SSH. Raises BackupError."""
    try:
        lines = _lines(path)
    except OSError as error:
        raise BackupError(f"The private key {path} cannot be read: {error.strerror}.") from None
    try:
        if lines and lines[0].startswith("-----BEGIN"):
            return [pyrage.ssh.Identity.from_buffer(path.read_bytes())]
        found = [pyrage.x25519.Identity.from_str(line) for line in lines]
    except (pyrage.IdentityError, OSError):
        found = []
    if not found:
        raise BackupError(f"{path} contains no readable private key (AGE-SECRET-KEY-1…, or an SSH key without a password).")
    return found


def encrypt(source: BinaryIO, target: BinaryIO, keys: list[Any]) -> None:
    """Encrypt a stream, in constant memory."""
    pyrage.encrypt_io(source, target, keys)


def decrypt(source: BinaryIO, target: BinaryIO, keys: list[Any]) -> None:
    """Decrypt a stream, in constant memory. Raises BackupError if no key fits, or the file is truncated or changed."""
    try:
        pyrage.decrypt_io(source, target, keys)
    except (pyrage.DecryptError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the file system
        raise BackupError("The file cannot be decrypted: it is encrypted for another key, or it is damaged.") from error


def _recipient(line: str) -> Any:
    try:
        return pyrage.ssh.Recipient.from_str(line) if line.startswith("ssh-") else pyrage.x25519.Recipient.from_str(line)
    except pyrage.RecipientError:
        raise BackupError("A public key cannot be read. It must look like age1…, ssh-ed25519 … or ssh-rsa ….") from None


def _lines(path: Path) -> list[str]:
    """The lines with keys. Raises OSError, and BackupError if it is no file of text."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BackupError(f"{path} is not a file of keys: it is not text.") from None
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


ACTION = "backup made"


def record_end(detail: str) -> None:
    """Record that a backup is complete: /metrics says when."""
    record(system.BACKUP_ENDED, SHELL, detail=detail)


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup.

    ``report``: the verification of its audit log. A backup with a broken log is stored anyway, because it is better than none.
    """

    path: Path
    counts: Counts
    report: chain.ChainReport


def create(place: Path, keys: Sequence[Any] = ()) -> Backup:
    """Create a backup in a new file, or in a directory under a name with the current time. ``keys``: see ``recipients``.

    Raises:
        BackupError: it could not be created, or the copy is damaged. No file is left behind.
    """
    database = database_file()
    target = _target(place, is_encrypted=bool(keys))
    try:
        with file_locks.take(database, file_locks.BACKING_UP):
            return _create(database, target, keys)
    except file_locks.LockTakenError:
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
    discard(copy)  # left by a process that was killed
    try:
        copy_live(database, copy)
        counts = check(copy)
        with used_by_django(copy):
            report = chain.verify()
        merge_and_sync(copy)
        _store(copy, target, keys, database)
    finally:
        discard(copy)
    return Backup(target, counts, report)


def _store(copy: Path, target: Path, keys: Sequence[Any], database: Path) -> None:
    """Store the file atomically, without overwriting an existing one."""
    # The same name each time, so that what a killed process has left does not stay. Other databases may be backed up to this place, too.
    partial = target.with_name(f".chatui-{hashlib.sha256(str(database).encode()).hexdigest()[:12]}.partial")
    partial.unlink(missing_ok=True)
    try:
        with copy.open("rb") as source, private_file(partial) as file:
            if keys:
                encrypt(source, file, list(keys))
            else:
                shutil.copyfileobj(source, file, 1024 * 1024)
        sync(partial)
        _refuse_existing(target)
        os.replace(partial, target)
        sync(target.parent)
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


def database_file() -> Path:
    """The product's own SQLite file. Raises BackupError if it uses PostgreSQL."""
    if connection.vendor != "sqlite":
        raise BackupError("This database is PostgreSQL: use pg_dump and pg_restore, as in docs/operating/backup.md.")
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
    unmerged = [suffix for suffix in SIDECARS if Path(f"{path}{suffix}").exists()]
    if unmerged:
        raise BackupError(f"{path.name}{unmerged[0]} could not be merged into the database.")
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
