"""Openai-harmony in a separate process, which needs its vocabulary, and a database file as a command finds it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from chatui.models.user import User
from tests.chatui.store.long_conversations import long_conversation
from tests.support import database_file
from tests.support.deployments import prepared
from tests.support.second_readers import in_process as in_process
from tests.support.second_readers import second as second
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

WORD = "zymurgy"
Place = Callable[[], Path]


@pytest.fixture
def database(tmp_path: Path, django_db_blocker: Any) -> Iterator[Path]:
    """The path of a migrated database with two people and their conversations, which Django's models use until the test ends."""
    path = tmp_path / "chatui.sqlite3"
    shutil.copy2(prepared.migrated(), path)
    with django_db_blocker.unblock(), database_file.in_use(path):
        call_command("audit", "head")
        for name in ("ada", "bela"):
            long_conversation(User.objects.create_user(name, password="correct horse battery"), 4, f"{WORD} {name}")
        yield path
