"""``/healthz`` checks nothing else; ``/readyz`` names what is missing, in one word, and is cheap."""

import shutil
import sqlite3
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.db import connection
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import OperationalError
from django.test import Client

from chatui.database import connections, versions
from chatui.database.connections import ThreadConnection
from chatui.display import readiness
from chatui.model_servers import connected
from tests.chatui.database.locks import write_lock
from tests.support.database import page_connections
from tests.support.environment import change
from tests.support.limits import limit
from tests.support.system_checks import said

MAX_CONNECTIONS = limit("chatui.database", "MAX_CONNECTIONS")

pytestmark = pytest.mark.django_db(transaction=True)
GOOD = {
    "ready": True,
    "database": "ok",
    "migrations": "ok",
    "disk": "ok",
    "configuration": "ok",
    "redis": "not used",
    "connections": "not used",
    "clock": "not used",
}


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0.0)


def ready() -> tuple[int, Any]:
    answer = Client().get("/readyz")
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.status_code, answer.json()


def refuse(*_: object, **__: object) -> None:
    raise OperationalError("SECRET words of the database")


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    full = shutil.disk_usage("/")._replace(free=readiness.MIN_FREE_BYTES - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)


def test_a_process_is_alive_without_its_database(monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any, client: Client) -> None:
    with django_assert_num_queries(0):
        assert client.get("/healthz").content == b"ok\n"
    monkeypatch.setattr(connection, "cursor", refuse)
    assert client.get("/healthz").status_code == 200


def test_a_process_is_ready_when_everything_is_available() -> None:
    assert ready() == (200, GOOD)


@pytest.mark.parametrize("missing", ["database", "migrations", "disk"])
def test_only_the_missing_part_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing == "database":
        monkeypatch.setattr(connections, "accepts_writes", refuse)
    elif missing == "migrations":
        MigrationRecorder(connection).migration_qs.filter(app="chatui", name="0001_squashed_0065_separation_proofs").delete()
    else:
        fill_disk(monkeypatch)
    try:
        assert ready() == (503, {**GOOD, "ready": False, missing: "failed"})
    finally:
        if missing == "migrations":
            MigrationRecorder(connection).record_applied("chatui", "0001_squashed_0065_separation_proofs")


def test_a_kept_connection_that_is_lost_before_anything_is_asked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ready() == (200, GOOD), "the premise: there is one"
    monkeypatch.setattr(ThreadConnection, "ready", refuse)
    assert ready() == (503, {"ready": False, "database": "failed"})
    monkeypatch.undo()
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0.0)
    assert ready() == (200, GOOD)


@pytest.mark.parametrize("without", ["redis", "disk of a server elsewhere", "connections", "configuration"])
def test_what_pages_can_do_without_is_said_and_takes_no_process_out_of_service(without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected: dict[str, object] = {}
    if without == "redis":
        change(monkeypatch, {"redis_url": "redis://127.0.0.1:9/0"})
        monkeypatch.setattr(readiness, "counters", SimpleNamespace(get=refuse))
        expected = {"redis": "degraded"}
    elif without == "connections":
        pages = page_connections(*[Mock] * MAX_CONNECTIONS)
        monkeypatch.setattr(connections, "of_pages", lambda: (pages.in_use, MAX_CONNECTIONS))
        assert ready() == (200, {**GOOD, "connections": "ok"}), "the premise"
        for _ in range(MAX_CONNECTIONS):
            pages.getconn()
        expected = {"connections": "degraded"}
    elif without == "configuration":
        monkeypatch.setattr(connected, "specs", list)
        expected = {"configuration": "degraded"}
    else:
        monkeypatch.setattr(readiness, "connection", SimpleNamespace(vendor="postgresql", close=lambda: None))
        fill_disk(monkeypatch)
        monkeypatch.setattr(readiness, "applied", MigrationLoader(None).disk_migrations.keys)
        expected = {"disk": "degraded", "clock": "ok"}
    assert ready() == (200, GOOD | expected)


def test_a_database_that_another_process_has_locked_is_busy_and_one_that_cannot_be_written_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with write_lock():
        assert ready() == (200, {**GOOD, "database": "busy"})
    assert ready() == (200, GOOD)
    opened = DatabaseWrapper.get_new_connection

    def for_reading(self: DatabaseWrapper, parameters: dict[str, Any]) -> Any:
        return opened(self, parameters | {"database": f"file:{parameters['database']}?mode=ro", "uri": True})

    monkeypatch.setattr(DatabaseWrapper, "get_new_connection", for_reading)
    for _ in range(2):
        assert ready() == (503, {**GOOD, "ready": False, "database": "failed"})
    monkeypatch.undo()
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0.0)
    assert ready() == (200, GOOD)


def test_a_server_that_only_reads_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Cursor:
        def __enter__(self) -> "Cursor":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def execute(self, sql: str) -> None:
            asked.append(sql)

        def fetchone(self) -> tuple[bool]:
            return (False,)

    fresh = SimpleNamespace(vendor="postgresql", cursor=Cursor, close=lambda: asked.append("closed"))
    kept = SimpleNamespace(vendor="postgresql", ensure_connection=lambda: asked.append("kept"), copy=lambda: fresh)
    monkeypatch.setattr(connections, "connection", kept)
    assert connections.accepts_writes() is False
    assert asked[0] == "kept" and "pg_is_in_recovery" in asked[1] and "transaction_read_only" in asked[1] and asked[2] == "closed"
    monkeypatch.setattr(connections, "of_pages", lambda: None)
    assert ready() == (503, {**GOOD, "ready": False, "database": "failed"})


def test_serve_refuses_a_file_that_it_may_not_write(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_writes() -> bool:
        error = OperationalError("attempt to write a readonly database")
        error.__cause__ = sqlite3.OperationalError()
        error.__cause__.sqlite_errorcode = sqlite3.SQLITE_READONLY
        raise error

    monkeypatch.setattr(connections, "accepts_writes", refuse_writes)
    with pytest.raises(CommandError, match="can be read, but not written"):
        call_command("serve", host="127.0.0.1", port=21799)


def test_a_newer_database_is_refused_unless_it_became_so_while_the_process_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = MigrationRecorder(connection)
    with monkeypatch.context() as patch:
        patch.setattr(readiness, "applied", dict)
        readiness.begin()  # as a process that does not serve yet
    own = max(name for app, name in MigrationLoader(None).disk_migrations if app == "chatui")
    recorder.record_applied("chatui", "0999_from_the_future")
    try:
        status, found = ready()
        assert (status, found["ready"], found["migrations"]) == (503, False, "failed")
        assert "0999_from_the_future" in found["problem"]
        assert own in found["problem"]
        [error] = said("E061")
        assert str(error.msg) == found["problem"]
        with pytest.raises(CommandError, match="0999_from_the_future"):
            call_command("migrate", verbosity=0)
        with pytest.raises(SystemCheckError, match="0999_from_the_future"):
            call_command("purge", skip_checks=False)
        for command in (
            ["backup", "somewhere"],
            ["audit", "verify"],
            ["audit", "export"],
            ["ratings"],
            ["doctor"],
            ["ask", "Hello"],
            ["move_to_postgresql", "x"],
        ):
            with pytest.raises(CommandError, match="0999_from_the_future"):
                call_command(*command)
        recorder.record_unapplied("chatui", "0999_from_the_future")
        readiness.begin()
        recorder.record_applied("chatui", "0999_from_the_future")
        status, found = ready()
        assert (status, found["ready"], found["migrations"]) == (200, True, "newer")
        assert "0999_from_the_future" in found["problem"]
    finally:
        recorder.record_unapplied("chatui", "0999_from_the_future")


@pytest.mark.parametrize(
    ("name", "is_newer"),
    [
        ("0051_ends_of_frames", False),
        ("0001_squashed_0051_ends_of_frames", False),
        ("0001_squashed_0999_from_the_future", True),
        ("0999_from_the_future", True),
        ("from_somewhere", True),
    ],
)
def test_what_became_part_of_the_one_migration_is_not_newer(name: str, is_newer: bool) -> None:
    assert versions.unknown([("chatui", name), ("auth", "0999_other")]) == [name] * is_newer


def test_frequent_checks_are_answered_from_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ready() == (200, GOOD)
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 3600.0)
    with monkeypatch.context() as patch:
        patch.setattr(connections, "accepts_writes", refuse)
        assert ready() == (200, GOOD)
        patch.setattr(readiness, "CACHE_SECONDS", 0.0)
        assert ready()[0] == 503
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0.0)
    assert ready() == (200, GOOD)


def test_the_migrations_of_a_release_are_those_that_django_would_load() -> None:
    assert readiness.on_disk() == set(MigrationLoader(None).disk_migrations) and len(readiness.on_disk()) > 10


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz"])
def test_monitors_may_ask_for_the_head_alone(path: str) -> None:
    assert Client().head(path).status_code == Client().get(path).status_code
