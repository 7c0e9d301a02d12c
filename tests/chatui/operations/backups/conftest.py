"""A database file for one test, as a command finds it: migrated, with two people and their conversations."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from chatui.models.user import User
from chatui.operations.backups import sqlite_files
from tests.chatui.store.long_conversations import long_conversation
from tests.support.deployments import prepared

WORD = "zymurgy"
Place = Callable[[], Path]


@pytest.fixture
def database(tmp_path: Path, django_db_blocker: Any) -> Iterator[Path]:
    """The path of the database that Django's models use until the test ends."""
    path = tmp_path / "chatui.sqlite3"
    shutil.copy2(prepared.migrated(), path)
    with django_db_blocker.unblock(), sqlite_files.used_by_django(path):
        call_command("audit", "head")
        for name in ("ada", "bela"):
            long_conversation(User.objects.create_user(name, password="correct horse battery"), 4, f"{WORD} {name}")
        yield path
