"""``/healthz`` checks nothing else; ``/readyz`` names what is missing, in one word, and is cheap."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import OperationalError
from django.test import Client

from chatui.checks import newer_database
from chatui.display import readiness
from chatui.model_servers import connected
from tests.support.environment import change

pytestmark = pytest.mark.django_db(transaction=True)
GOOD = {"ready": True, "database": "ok", "migrations": "ok", "disk": "ok", "configuration": "ok", "redis": "not used"}


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0.0)


def ready() -> tuple[int, Any]:
    answer = Client().get("/readyz")
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.status_code, answer.json()


def refuse(*_: object, **__: object) -> None:
    raise OperationalError("SECRET words of the database")


def test_a_process_is_alive_without_its_database(monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any, client: Client) -> None:
    with django_assert_num_queries(0):
        assert client.get("/healthz").content == b"ok\n"
    monkeypatch.setattr(connection, "cursor", refuse)
    assert client.get("/healthz").status_code == 200


def test_a_process_is_ready_when_everything_is_available() -> None:
    assert ready() == (200, GOOD)


@pytest.mark.parametrize("missing", ["database", "migrations", "disk", "configuration", "redis"])
def test_only_the_missing_part_is_named(missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if missing == "database":
        monkeypatch.setitem(readiness._CHECKS, "database", refuse)
    elif missing == "migrations":
        MigrationRecorder(connection).migration_qs.filter(app="chatui", name="0001_squashed_0051_ends_of_frames").delete()
    elif missing == "disk":
        full = shutil.disk_usage(tmp_path)._replace(free=readiness.MIN_FREE_BYTES - 1)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    elif missing == "configuration":
        monkeypatch.setattr(connected, "specs", list)
    else:
        change(monkeypatch, {"redis_url": "redis://127.0.0.1:9/0"})
        monkeypatch.setattr(readiness, "counters", SimpleNamespace(get=refuse))
    try:
        assert ready() == (503, {**GOOD, "ready": False, missing: "failed"})
    finally:
        if missing == "migrations":
            MigrationRecorder(connection).record_applied("chatui", "0001_squashed_0051_ends_of_frames")


def test_a_newer_database_is_refused_unless_it_became_so_while_the_process_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = MigrationRecorder(connection)
    monkeypatch.setattr(readiness._begun_with, "names", frozenset())
    own = max(name for app, name in readiness.on_disk() if app == "chatui")
    recorder.record_applied("chatui", "0052_from_the_future")
    try:
        status, found = ready()
        assert (status, found["ready"], found["migrations"]) == (503, False, "failed")
        assert "0052_from_the_future" in found["problem"]
        assert own in found["problem"]
        [error] = newer_database(None)
        assert str(error.msg) == found["problem"]
        with pytest.raises(CommandError, match="0052_from_the_future"):
            call_command("migrate", verbosity=0)
        with pytest.raises(SystemCheckError, match="0052_from_the_future"):
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
            with pytest.raises(CommandError, match="0052_from_the_future"):
                call_command(*command)
        recorder.record_unapplied("chatui", "0052_from_the_future")
        readiness.begin()
        recorder.record_applied("chatui", "0052_from_the_future")
        status, found = ready()
        assert (status, found["ready"], found["migrations"]) == (200, True, "newer")
        assert "0052_from_the_future" in found["problem"]
    finally:
        recorder.record_unapplied("chatui", "0052_from_the_future")


def test_frequent_checks_are_answered_from_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 3600.0)
    monkeypatch.setattr(readiness._cache, "at", float("-inf"))
    assert ready() == (200, GOOD)
    monkeypatch.setitem(readiness._CHECKS, "database", refuse)
    assert ready() == (200, GOOD)
    monkeypatch.setattr(readiness._cache, "at", float("-inf"))
    assert ready()[0] == 503
    monkeypatch.setattr(readiness._cache, "at", float("-inf"))


def test_the_migrations_of_a_release_are_those_that_django_would_load() -> None:
    assert readiness.on_disk() == set(MigrationLoader(None).disk_migrations) and len(readiness.on_disk()) > 10


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz"])
def test_monitors_may_ask_for_the_head_alone(path: str) -> None:
    assert Client().head(path).status_code == Client().get(path).status_code
