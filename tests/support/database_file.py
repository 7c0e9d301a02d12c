"""The product's SQLite file: which one is used, and that it cannot be copied."""

import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from chatui.operations import backups, restoring


def in_use(path: Path) -> AbstractContextManager[None]:
    """In the block, Django's models use this file, in this thread."""
    return backups.used_by_django(path)


def discard(path: Path) -> None:
    """Delete it with the files that SQLite keeps beside it."""
    backups.discard(path)


def _full(*_: object, **__: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


def fill_disk_at_migrations(patch: pytest.MonkeyPatch) -> None:
    """The disk is full when a restored database is brought up to date."""
    patch.setattr(restoring, "call_command", _full)


def fill_disk_at_copies(patch: pytest.MonkeyPatch) -> None:
    """The disk is full when a database is copied."""
    patch.setattr(backups, "copy_live", _full)
