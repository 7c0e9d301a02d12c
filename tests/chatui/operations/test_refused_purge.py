"""What the database refuses to remove stops no purge, but a database that is away ends it at once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model
from django.utils import timezone

from chatui.models.assistants import Assistant
from chatui.models.audit import AuditEvent
from chatui.models.collections import Collection
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.saved_prompts import SavedPrompt
from chatui.models.user import User
from renderer.frames import Frame
from tests.chatui.conftest import make_person, output_of
from tests.support import database
from tests.support.environment import change
from tests.support.messages import add_message
from tests.support.people import close
from tests.support.scripted import ANALYSIS

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "quixotic-zeppelin"
REFUSED = 4
"""The exit code, as docs/operating/retention.md has it."""
LAST = "retention run ended"


@pytest.fixture
def old(ada: User, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Three rows of each kind that a purge removes, 45 days later: their keys, by table."""
    change(monkeypatch, {"hidden_days": 1, "closed_accounts": "erase", "closed_account_days": 30})
    closed = [make_person(name) for name in ("cleo", "dora", "emil")]
    for person in closed:
        close(person)
    talk = Conversation.objects.create(owner=ada)
    messages = [add_message(talk, None, Frame(ANALYSIS, SECRET), Author.MODEL) for _ in range(3)]
    now = timezone.now()
    rows: dict[type[Model], Sequence[Model]] = {
        Conversation: [Conversation.objects.create(owner=ada, deleted_at=now) for _ in range(3)],
        Assistant: [Assistant.objects.create(owner=ada, deleted_at=now) for _ in range(3)],
        Collection: [Collection.objects.create(owner=ada, name=f"old {each}", deleted_at=now) for each in range(3)],
        SavedPrompt: [SavedPrompt.objects.create(owner=ada, name=f"old {each}", text="old", deleted_at=now) for each in range(3)],
        Message: messages,
        User: closed,
    }
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(days=45))
    return {model._meta.db_table: [row.pk.hex for row in of_model] for model, of_model in rows.items()}


@contextmanager
def refusing(rows: dict[str, str]) -> Iterator[None]:
    """The database refuses to delete these rows, one of each table, or to change a message."""
    with connection.cursor() as cursor:
        for table, key in rows.items():
            what = f"{'UPDATE' if table == 'chatui_message' else 'DELETE'} ON {table} WHEN OLD.id = '{key}'"
            cursor.execute(f"CREATE TRIGGER refused_{table} BEFORE {what} BEGIN SELECT RAISE(ABORT, 'no'); END")
        try:
            yield
        finally:
            for table in rows:
                cursor.execute(f"DROP TRIGGER refused_{table}")


def left(old: dict[str, list[str]]) -> dict[str, list[str]]:
    """Which of the rows are there, of messages those with their text."""
    with connection.cursor() as cursor:
        found = {}
        for table, keys in old.items():
            holds = f"text LIKE '%{SECRET}%'" if table == "chatui_message" else "1"
            ids = {row[0] for row in cursor.execute(f"SELECT id FROM {table} WHERE {holds}").fetchall()}
            found[table] = [key for key in keys if key in ids]
    return found


def test_what_is_refused_is_logged_and_counted_and_all_else_is_removed(old: dict[str, list[str]], caplog: pytest.LogCaptureFixture) -> None:
    assert left(old) == old, "the premise"
    second = {table: keys[1] for table, keys in old.items()}
    with refusing(second), pytest.raises(CommandError, match="refused to remove something 7 times") as refused:
        output_of("purge")
    assert refused.value.returncode == REFUSED
    assert left(old) == {table: [key] for table, key in second.items()}
    logged = [each for each in caplog.messages if "refused to remove" in each]
    assert len(logged) == 7 and SECRET not in caplog.text, "the conversation is refused as one of the bin, and as one that was begun"
    assert "; refused by the database: 7" in AuditEvent.objects.get(action=LAST).detail
    assert "Removed 1 conversations" in output_of("purge")
    assert not any(left(old).values())


def test_a_row_whose_text_is_damaged_is_refused_and_all_else_is_removed(
    old: dict[str, list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    damaged = old[Message._meta.db_table][1]
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE chatui_message SET text = CAST(CAST('{SECRET}' AS BLOB) || X'ff' AS TEXT) WHERE id = '{damaged}'")
    with pytest.raises(CommandError, match="refused to remove something 1 times") as refused:
        output_of("purge")
    assert refused.value.returncode == REFUSED and SECRET not in caplog.text
    assert [key for keys in left(old).values() for key in keys] == [damaged]


def test_a_database_that_is_away_ends_it_at_once(
    old: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried = []

    def away(_: BaseDatabaseWrapper, sql: str) -> None:
        if sql.startswith('DELETE FROM "chatui_assistant"'):
            tried.append(sql)
            raise OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        database.watch(patch, away)
        with pytest.raises(OperationalError):
            output_of("purge")
    assert len(tried) == 1 and "refused" not in caplog.text
    assert not AuditEvent.objects.filter(action=LAST).exists(), "so it is tried again in an hour"
    output_of("purge")
    assert not any(left(old).values())
