"""Creates a backup: copies a snapshot of the database, checks the copy like a restore does, encrypts it and stores it.

It is encrypted for the operator's keys, in the age format (https://age-encryption.org/v1).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pyrage
from django.db import DatabaseError

from chatui.audit_log import chain
from chatui.audit_log.record import SHELL, record
from chatui.database import file_locks
from chatui.operations import sqlite_files
from chatui.operations.sqlite_files import BackupError, Counts, private_file

_BEGINNINGS = (b"age-encryption.org/v1", b"-----BEGIN AGE ENCRYPTED FILE-----")


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
        lines = _lines(Path(name)) if not name.startswith(("age1", "ssh-")) else [name]
        keys += [_recipient(line) for line in lines]
        if not keys:
            raise BackupError(f"{name} contains no public key.")
    return keys


def identities(path: Path) -> list[Any]:
    """The private keys in a file: any number of age, or one of SSH. Raises BackupError."""
    lines = _lines(path)
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
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BackupError(f"{path} is neither a public key nor a readable file.") from None
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


ACTION = "backup made"


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
    database = sqlite_files.database_file()
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
    sqlite_files.discard(copy)  # left by a process that was killed
    try:
        sqlite_files.copy_live(database, copy)
        counts = sqlite_files.check(copy)
        with sqlite_files.used_by_django(copy):
            report = chain.verify()
        sqlite_files.merge_and_sync(copy)
        _store(copy, target, keys)
    finally:
        sqlite_files.discard(copy)
    return Backup(target, counts, report)


def _store(copy: Path, target: Path, keys: Sequence[Any]) -> None:
    """Store the file atomically, without overwriting an existing one."""
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with copy.open("rb") as source, sqlite_files.private_file(partial) as file:
            if keys:
                encrypt(source, file, list(keys))
            else:
                shutil.copyfileobj(source, file, 1024 * 1024)
        sqlite_files.sync(partial)
        _refuse_existing(target)
        os.replace(partial, target)
        sqlite_files.sync(target.parent)
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
