"""``serve`` purges once a day by itself: one of two processes does it, and the administration shows what it removed."""

import os
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.services.databases import own_database
from tests.support.served import Deployment

pytestmark = pytest.mark.services

MOST_SECONDS = 300
BEGUN, ENDED = "retention run", "retention run ended"
OLD_ROWS = """
from datetime import timedelta
from unittest.mock import patch
from django.utils import timezone
from chatui.audit_log.record import SHELL, record
from chatui.models.conversation import Conversation
from chatui.models.user import User
old = timezone.now() - timedelta(days=45)
Conversation.objects.create(owner=User.objects.get(), deleted_at=old)
with patch("django.utils.timezone.now", lambda: old):
    record("a line of an old database", SHELL)
"""


def lines(rows: psycopg.Connection[tuple[object, ...]], action: str) -> list[tuple[object, ...]]:
    return rows.execute("SELECT way, detail FROM chatui_auditevent WHERE action = %s", [action]).fetchall()


def test_one_of_two_processes_purges_and_the_page_says_what_it_removed(tmp_path: Path) -> None:
    settings = {"CHATUI_REDIS_URL": os.environ["CHATUI_TEST_REDIS_URL"], "CHATUI_SECRET_KEY": "x" * 50}
    with own_database() as address, psycopg.connect(address, autocommit=True) as rows:
        deployment = Deployment(tmp_path / "data", CHATUI_DATABASE_URL=address, **settings)
        deployment.make_people(root=(True, ["change_storedbackend"]))
        deployment.manage("shell", "-c", OLD_ROWS)
        deployment.program = ("-m", __name__)
        try:
            first, second = deployment.start(), deployment.start()
            until = time.monotonic() + MOST_SECONDS
            while not lines(rows, ENDED) and time.monotonic() < until:
                time.sleep(0.5)
            page = first.sign_in("root").get("/manage/system/").text
        finally:
            deployment.stop()
        assert rows.execute("SELECT count(*) FROM chatui_conversation").fetchone() == (0,), first.console + second.console
        [(way, removed)] = lines(rows, ENDED)
        assert [way for way, _ in lines(rows, BEGUN)] == [way] == ["server"]
        assert "; conversations: 1, " in str(removed)
        assert str(removed) in page


if __name__ == "__main__":  # manage.py that looks sooner and more often whether a purge is due
    import django
    from django.core.management import execute_from_command_line

    os.environ["DJANGO_SETTINGS_MODULE"] = "chatui.settings"
    django.setup()
    from chatui.management.commands import purge, serve

    serve.FIRST_PURGE_SECONDS = purge.LOOK_SECONDS = 0.5
    sys.argv[0] = "manage.py"  # what a process that purges starts
    execute_from_command_line(sys.argv)
