"""Processes start together on an empty database: one creates the tables, the others wait."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatui.database import file_locks
from tests.services.databases import own_database
from tests.support.served import NewDeployment


def migrate_twice_at_once(deployment: NewDeployment) -> None:
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda _: deployment.manage("migrate", "--verbosity", "0"), range(2)))
    assert "[ ]" not in deployment.manage("showmigrations", "chatui", "auth")


@pytest.mark.extended
@pytest.mark.services
def test_one_of_several_processes_migrates_postgresql(tmp_path: Path) -> None:
    with own_database(is_empty=True) as address:
        migrate_twice_at_once(NewDeployment(tmp_path, CHATUI_DATABASE_URL=address, CHATUI_SECRET_KEY="x" * 50))


@pytest.mark.served
def test_one_of_several_processes_migrates_sqlite(tmp_path: Path) -> None:
    migrate_twice_at_once(NewDeployment(tmp_path))


def test_processes_wait_for_the_lock_which_ends_with_its_holder(tmp_path: Path) -> None:
    database, has_it = tmp_path / "chatui.sqlite3", threading.Event()

    def wait() -> None:
        with file_locks.take(database, file_locks.MIGRATING, wait=True):
            has_it.set()

    with file_locks.take(database, file_locks.MIGRATING):
        thread = threading.Thread(target=wait)
        thread.start()
        with pytest.raises(file_locks.LockTakenError):
            file_locks.take(database, file_locks.MIGRATING)
        with file_locks.take(database, file_locks.SERVING):
            assert not has_it.is_set()
    thread.join(60)
    assert has_it.is_set()
