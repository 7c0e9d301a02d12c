"""Erasing conversations: any length, with all related rows, and without blocking other writers."""

import time
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatui.database.faults import Refused
from chatui.models.conversation import Conversation
from chatui.models.message import Message, SearchEntry
from chatui.models.user import User
from chatui.store import erasure, search_index
from chatui.store.files import delete_rows
from tests.chatui.conftest import signed_in
from tests.chatui.store.long_conversations import MODELS, long_conversation

pytestmark = pytest.mark.django_db


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in MODELS}  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_chain_of_thousands_of_messages_is_erased_from_the_bin(ada: User) -> None:
    remaining = long_conversation(ada, 4, "carrot")
    before = counts()
    assert min(before.values()) > 0
    long = long_conversation(ada, 3_000)
    Conversation.objects.filter(pk=long.pk).update(deleted_at=timezone.now() - timedelta(days=31))
    out, started = StringIO(), time.monotonic()
    call_command("purge", stdout=out)
    assert "Removed 1 conversations" in out.getvalue() and time.monotonic() - started < 60
    assert counts() == before and Message.objects.filter(conversation=remaining).count() == 4


@pytest.mark.django_db(transaction=True)
def test_others_can_write_between_two_batches(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.store.erasure.BATCH_MESSAGES", 10)
    long = long_conversation(ada, 100)
    Conversation.objects.filter(pk=long.pk).update(deleted_at=timezone.now() - timedelta(days=31))
    with CaptureQueriesContext(connection) as queries:
        call_command("purge", stdout=StringIO())
    transactions = "\n".join(query["sql"] for query in queries).split("COMMIT")
    assert max(each.count('DELETE FROM "chatui_message"') for each in transactions) == 1 and len(transactions) > 11
    assert not Message.objects.exists()


def dies_after_ten(rows: Any) -> int:
    """In place of ``delete_rows``: of 40 messages, ten are erased."""
    if Message.objects.count() <= 30:
        raise KeyboardInterrupt
    return delete_rows(rows)


def test_an_interrupted_erasure_is_completed(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = long_conversation(ada, 40)
    monkeypatch.setattr(erasure, "BATCH_MESSAGES", 10)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(erasure, "delete_rows", dies_after_ten)
        erasure.erase_conversation(row.pk)
    assert Message.objects.count() == 30, "the premise: it was cut off"
    assert signed_in(ada).post(f"/c/{row.pk}/restore/").status_code == 404, "nobody reads half of it"
    assert erasure.sweep() == 1
    assert set(counts().values()) == {0}


def test_one_that_cannot_be_erased_stops_no_other(ada: User) -> None:
    rows = [long_conversation(ada, 4, title) for title in ("carrot", "apple", "pear")]
    with connection.cursor() as cursor:
        refused = "BEGIN SELECT RAISE(ABORT, 'no'); END"
        cursor.execute(f"CREATE TRIGGER refused BEFORE DELETE ON chatui_conversation WHEN OLD.id = '{rows[1].pk.hex}' {refused}")
        for row in rows:
            erasure.close(row.pk)
        assert erasure.erase_unfinished() == 2
        assert Conversation.objects.get().pk == rows[1].pk
        cursor.execute("DROP TRIGGER refused")
    assert erasure.erase_unfinished() == 1


def test_a_conversation_restored_from_the_bin_stays(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [long_conversation(ada, 4) for _ in range(2)]
    Conversation.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    erase = erasure.erase_conversation

    def and_restore_the_other(key, **options):  # type: ignore[no-untyped-def]
        Conversation.objects.exclude(pk=key).update(deleted_at=None)
        return erase(key, **options)

    monkeypatch.setattr(erasure, "erase_conversation", and_restore_the_other)
    assert erasure.erase_expired(timezone.now(), Refused()) == 1
    assert Conversation.objects.get() in rows


@pytest.mark.django_db(transaction=True)
def test_the_index_is_cleaned_in_steps_until_no_deleted_word_is_left(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    search_index.tidy()  # what earlier tests left in the index would decide when SQLite merges its parts by itself
    monkeypatch.setattr(search_index, "MERGED_PAGES", 1)
    rows = [long_conversation(ada, 200, word) for word in ("asparagus", "broccoli", "cabbage")]
    erasure.erase_conversation(rows[1].pk)
    assert b"broccoli" in index_bytes(), "the index is emptied without it, so this test would prove nothing"
    search_index.tidy()
    assert b"broccoli" not in index_bytes() and b"cabbage" in index_bytes()
    assert SearchEntry.objects.count() == 402


def index_bytes() -> bytes:
    with connection.cursor() as cursor:
        return b"".join(row[0] for row in cursor.execute("SELECT block FROM chatui_words_data").fetchall())
