"""The error pages of a real server whose database cannot be used: each has a code, a sentence in the reader's language, and one line in the
log, also for a person whose account cannot be read."""

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.support.served import Deployment, Server

pytestmark = [pytest.mark.served, pytest.mark.faults]

BROKEN = "Bei uns ist etwas schiefgegangen."
BUSY = "Der Server ist zurzeit zu ausgelastet."


@dataclass
class Running:
    """A server on SQLite, with the client of a signed-in person whose browser is German. ``told``: how many lines are known."""

    server: Server
    client: httpx.Client
    database: Path
    told: int = 0

    def change(self, *statements: str) -> None:
        with contextlib.closing(sqlite3.connect(self.database, timeout=30, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    deployment = Deployment(tmp_path)
    try:
        server = deployment.start()
        deployment.make_people(ada=(False, []))
        client = server.sign_in("ada")
        client.headers["Accept-Language"] = "de"
        yield Running(server, client, tmp_path / "chatui.sqlite3")
    finally:
        deployment.stop()


def wrong_with(running: Running, response: httpx.Response, status: int, code: str, sentence: str) -> list[str]:
    """What the page and the log lack."""
    page = response.text
    found = re.search(rf'<code class="incident">{code}</code>\D+<code class="incident">(\w{{16}})</code>', page)
    lines = [line for line in running.server.console.splitlines() if "error page" in line][running.told :]
    running.told += len(lines)
    checks = {
        f"the status is {response.status_code}": response.status_code == status,
        "another language": 'lang="de"' in page,
        "no sentence": sentence in page,
        "no code and number": found is not None,
        f"{len(lines)} lines in the log": len(lines) == 1 and found is not None and found[1] in lines[0],
        "no way back": 'href="/"' in page,
    }
    return [name for name, is_right in checks.items() if not is_right]


def test_a_page_without_its_tables_or_of_a_damaged_database_is_an_error_page(running: Running) -> None:
    for table in ("chatui_conversation", "chatui_user", "django_session"):
        assert running.client.get("/").status_code == 200, "the premise"
        running.change(f"ALTER TABLE {table} RENAME TO gone")
        assert wrong_with(running, running.client.get("/"), 500, "E-X-INTERNAL", BROKEN) == [], table
        running.change(f"ALTER TABLE gone RENAME TO {table}")
    for file in running.database.parent.glob("chatui.sqlite3*"):
        file.write_bytes(b"no database" * 10_000)
    assert wrong_with(running, running.client.get("/nothing/"), 500, "E-X-INTERNAL", BROKEN) == []


def test_a_form_that_cannot_be_stored_in_time_is_answered_with_503(running: Running) -> None:
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', running.client.get("/settings/").text)
    assert token
    form = {"csrfmiddlewaretoken": token[1], "name": "Ada"}
    with contextlib.closing(sqlite3.connect(running.database, timeout=30, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = running.client.post("/settings/", data=form)
        other.execute("ROLLBACK")
    assert wrong_with(running, refused, 503, "E-X-SERVER-BUSY", BUSY) == []
    assert running.client.post("/settings/", data=form).status_code < 500
