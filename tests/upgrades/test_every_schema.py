"""Upgrades from every committed schema, with rows in each table: nothing is lost, and the audit log verifies.

Every run upgrades one schema in ten to the newest in one go; CHATUI_TEST_LONG upgrades all of them so. Every run also applies all
migrations one by one, with rows before each.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chatui.audit_log import chain
from chatui.operations.backups import sqlite_files
from tests.support.cases import ROUNDS
from tests.upgrades.committed import names
from tests.upgrades.filling import WORD, fill

pytestmark = pytest.mark.slow
REPLACED = {"DebugOpening"}
"""Tables whose rows are no longer needed."""
STATES = names() if ROUNDS > 1 else [*names()[:-1:10], names()[-1]]


@pytest.fixture
def row_counts(tmp_path: Path, django_db_blocker: Any) -> dict[str, dict[str, int]]:
    """Create a database file in ``tmp_path`` for each schema, named after its migration. Returns the row counts of its tables."""
    place, counts = tmp_path / "chatui.sqlite3", {}
    with django_db_blocker.unblock(), sqlite_files.used_by_django(place):
        executor, state = MigrationExecutor(connection), None
        for name in names():
            # One database passes through all schemas: building each from the first migration took most of the time.
            plan = executor.migration_plan([("chatui", name)])
            state = executor.migrate([("chatui", name)], plan, state)
            executor.loader.applied_migrations.update({(migration.app_label, migration.name): migration for migration, _ in plan})
            counts[name] = fill(state.apps)
            assert min(counts[name].values()) > 0 and len(counts[name]) > 10, "an empty table would prove nothing"
            if name in STATES:
                connection.close()
                sqlite_files.copy_live(place, tmp_path / name)
    return counts


def test_nothing_is_lost_by_an_upgrade(row_counts: dict[str, dict[str, int]], tmp_path: Path, django_db_blocker: Any) -> None:
    for name in STATES:
        with django_db_blocker.unblock(), sqlite_files.used_by_django(tmp_path / name):
            call_command("migrate", verbosity=0)
            rows = {model.__name__: model._base_manager.count() for model in apps.get_app_config("chatui").get_models()}
            assert {table: count for table, count in row_counts[name].items() if rows.get(table) != count}.keys() <= REPLACED, name
            assert chain.verify().is_intact and chain.head(), name
        sqlite_files.merge_and_sync(tmp_path / name)
        sqlite_files.check(tmp_path / name)
        with closing(sqlite3.connect(tmp_path / name)) as database:
            assert database.execute("PRAGMA foreign_key_check").fetchall() == [], name
            assert database.execute(f"SELECT count(*) FROM chatui_message WHERE text LIKE '%{WORD}%'").fetchone()[0] > 0, name
