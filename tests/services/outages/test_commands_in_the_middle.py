"""PostgreSQL is killed in the middle of ``migrate`` and of ``purge``: one line says so, and the next run does the rest."""

import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.services.databases import OwnServer, own_server
from tests.support.deployments import process
from tests.support.served import Deployment

pytestmark = [pytest.mark.services, pytest.mark.faults]

OLD = """
from datetime import timedelta
from django.utils import timezone
from chatui.models.conversation import Conversation
from chatui.models.user import User
ada, deleted = User.objects.get(), timezone.now() - timedelta(days=500)
Conversation.objects.bulk_create([Conversation(owner=ada, title="old", deleted_at=deleted) for _ in range(200)])
Conversation.objects.bulk_create([Conversation(owner=ada, title="kept") for _ in range(5)])
"""


def test_what_was_begun_is_finished_by_the_next_run(tmp_path: Path) -> None:
    with own_server() as server:
        deployment = Deployment(tmp_path, CHATUI_DATABASE_URL=server.url, PYTHONWARNINGS="ignore")

        def applied() -> int:
            there = number(server, "SELECT count(*) FROM pg_class WHERE relname = 'django_migrations'")
            return number(server, "SELECT count(*) FROM django_migrations") if there else 0

        killed_in(server, deployment, ["migrate", "--verbosity", "0"], lambda: applied() > 4)
        assert applied() < 40, "the premise: it was in the middle"
        deployment.manage("migrate", "--verbosity", "0")

        def left() -> int:
            return number(server, "SELECT count(*) FROM chatui_conversation")

        deployment.make_people(ada=(False, []))
        deployment.manage("shell", "--no-imports", "-c", OLD)
        killed_in(server, deployment, ["purge"], lambda: left() < 195)
        assert 5 < left() < 195, "the premise: it was in the middle"
        assert "Removed " in deployment.manage("purge") and left() == 5


def killed_in(server: OwnServer, deployment: Deployment, command: list[str], is_in_the_middle: Callable[[], bool]) -> None:
    """Begin a command, kill the server in the middle of it, and start the server again. The command says so in its last line."""
    with tempfile.TemporaryFile("w+") as output:
        running = process.start(["manage.py", *command], deployment.environment, output)
        end = time.monotonic() + 240
        while not is_in_the_middle():
            assert running.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        server.signal(signal.SIGKILL)
        try:
            assert running.wait(120) == 1
        except subprocess.TimeoutExpired:
            running.kill()
            raise
        output.seek(0)
        said = output.read()
    assert "refused to remove" not in said, "one row is not the reason"
    assert "Traceback" not in said and f"127.0.0.1:{server.port} (CHATUI_DATABASE_URL) cannot be used: " in said.splitlines()[-1]
    end = time.monotonic() + 60
    while True:  # as long as nobody has reaped what was killed, it counts as a server that runs
        try:
            return server.start()
        except subprocess.CalledProcessError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def number(server: OwnServer, query: str) -> int:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(query).fetchone()  # type: ignore[arg-type, call-overload]
    return int(row[0]) if row else 0
