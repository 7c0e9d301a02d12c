"""The move from SQLite to PostgreSQL with the commands of ``docs/operating/processes.md``: all rows arrive, and people continue."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.operating.from_docs import block, run_block
from tests.services.databases import own_database
from tests.support.deployments import process
from tests.support.served import Deployment, LiveSocket, Server

pytestmark = pytest.mark.services

WORD = "zymurgy"
WRITE = f"""
from chatui.audit_log.record import SHELL, record
from chatui.models import User
from chatui.store.files import NewFile, FileDestination, save
from django.contrib.auth.models import Group
from django.db import transaction
from tests.chatui.store.long_conversations import long_conversation
ada = User.objects.get(username="ada")
with transaction.atomic():
    ada.groups.add(Group.objects.create(name="Readers"))
    for _ in range(3):
        row = long_conversation(ada, 120, "{WORD}")
    save(FileDestination(ada.pk, row.pk), NewFile.of("notes.txt", b"x" * 700_000))
    for number in range(5):
        record("debug page", SHELL, "ada", detail=f"look {{number}}")
"""
# All values of all rows, by table, including times and ids. Types that databases store differently are compared as text.
EVERYTHING = """
import hashlib, json
from django.apps import apps
from django.db import connection
digests = {}
for model in apps.get_models(include_auto_created=True):
    rows = [
        [str(bytes(value)) if isinstance(value, memoryview) else str(value) for value in row]
        for row in model._base_manager.order_by("pk").values_list(*sorted(field.attname for field in model._meta.concrete_fields))
    ]
    lines = [row for row in rows if "database moved" not in row]
    digests[model._meta.db_table] = [len(lines), hashlib.sha256(json.dumps(lines).encode()).hexdigest()]
print("ANSWER", json.dumps([sorted(connection.introspection.table_names()), digests]))
"""


def tables_and_digests(deployment: Deployment) -> tuple[list[str], dict[str, list[object]]]:
    tables, rows = json.loads(deployment.manage("shell", "--no-imports", "-c", EVERYTHING).split("ANSWER ")[1])
    return tables, rows


def refusal(environment: dict[str, str], file: Path) -> str:
    done = process.run(["manage.py", "move_to_postgresql", str(file)], environment)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


async def ask(server: Server, client: httpx.Client, question: str) -> str:
    async with LiveSocket(server, client) as socket:
        await socket.send("send", client_id=str(uuid4()), conversation=None, text=question, effort="low")
        ended = await socket.until("response.completed", "response.failed", "response.incomplete", "chatui:refused")
    return str(ended[-1]["type"])


def without_marks(page: str) -> str:
    return re.sub("</?mark>", "", page)


async def test_all_rows_are_moved_and_people_continue_where_they_were(tmp_path: Path) -> None:
    data = tmp_path / "data"
    small = Deployment(data)
    small.make_people(ada=(False, []), bela=(True, ["view_hidden_channels"]))
    small.manage("shell", "--no-imports", "-c", WRITE)
    server = small.start()
    ada = server.sign_in("ada")
    assert await ask(server, ada, f"What is {WORD}?") == "response.completed"
    cookies = dict(ada.cookies)
    with own_database(is_empty=True) as address:
        environment = small.environment | {"CHATUI_DATABASE_URL": address}
        assert "A server is running" in refusal(environment, data / "chatui.sqlite3")
        small.stop()
        _, before = tables_and_digests(small)
        # Longer than the column, which SQLite accepts.
        with closing(sqlite3.connect(data / "chatui.sqlite3", isolation_level=None)) as database:
            database.execute(
                "UPDATE chatui_conversation SET title = title || ? WHERE id = (SELECT min(id) FROM chatui_conversation)", ["!" * 500]
            )
            assert "A row of chatui_conversation with keys" in refusal(environment, data / "chatui.sqlite3")
            database.execute("UPDATE chatui_conversation SET title = rtrim(title, '!')")
        moving = block("docs/operating/processes.md", "systemctl stop chatui.service")
        names = {"systemctl": "echo", "/var/lib/chatui/": f"{data}/"}
        printed = run_block(moving, environment, tmp_path, **names)
        assert "2 accounts, 4 conversations, 36" in printed and "The log is intact" in printed

        large = Deployment(data, CHATUI_DATABASE_URL=address)
        tables, after = tables_and_digests(large)
        assert {name: rows for name, rows in after.items() if rows != before[name]} == {}
        assert after["chatui_filepiece"][0] == 3 and after["chatui_auditevent"][0] and after["chatui_searchentry"][0]
        managed_by_django_or_the_index = {"django_migrations"}
        assert set(tables) - set(after) == managed_by_django_or_the_index, "a table without a model is not moved"
        assert "rows in" in refusal(environment, data / "chatui.sqlite3")
        with closing(sqlite3.connect(data / "chatui.sqlite3", isolation_level=None)) as database:
            assert database.execute("SELECT count(*) FROM chatui_message").fetchone() >= (362,), "the file stays"

        server = large.start()
        try:
            with httpx.Client(base_url=server.url, cookies=cookies, trust_env=False) as client:
                assert f"What is {WORD}?" in without_marks(client.get(f"/search/?q={WORD}").text), "session and index remain"
                assert await ask(server, client, "Go on?") == "response.completed"
            assert "The log is intact" in large.manage("audit", "verify")
        finally:
            large.stop()


@pytest.mark.extended
def test_what_cannot_be_moved_is_refused_with_the_reason(tmp_path: Path) -> None:
    small = Deployment(tmp_path / "data")
    file = tmp_path / "data" / "chatui.sqlite3"
    assert "must name the PostgreSQL database" in refusal(small.environment, file)
    with own_database() as address:
        environment = small.environment | {"CHATUI_DATABASE_URL": address}
        assert "does not exist" in refusal(environment, tmp_path / "nothing")
        (tmp_path / "text").write_text("no database")
        assert "not a database of this product" in refusal(environment, tmp_path / "text")
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            database.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('chatui', '9999_later', '2027-01-01')")
            assert "newer version" in refusal(environment, file)
            database.execute("DELETE FROM django_migrations WHERE name IN ('9999_later', '0001_squashed_0065_separation_proofs')")
            assert "older version" in refusal(environment, file)
