"""The bin: its content, expiry and restoration, and erasing for good."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from chatui.display import conversation_actions
from chatui.display import conversation_list as bin_and_archive
from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.conftest import signed_in
from tests.support.environment import change

pytestmark = pytest.mark.django_db(transaction=True)


def binned(owner: User, title: str, days: float = 1, **also: object) -> Conversation:
    deleted_at = timezone.now() - timedelta(days=days)
    return Conversation.objects.create(owner=owner, title=title, deleted_at=deleted_at, **also)


def test_it_lists_only_the_persons_deleted_conversations_newest_first(ada: User, bela: User) -> None:
    binned(ada, "Older", 2)
    binned(ada, "Newer", 1)
    binned(ada, "Half an import", unfinished_until=timezone.now() + timedelta(minutes=1))
    binned(bela, "Of somebody else")
    Conversation.objects.create(owner=ada, title="In the list")
    assert [each.title for each in bin_and_archive.shown_bin(ada).conversations] == ["Newer", "Older"]
    page = signed_in(ada).get("/bin/").content.decode()
    assert "Newer" in page and "Half an import" not in page and "Of somebody else" not in page and "In the list" not in page


def test_it_says_until_when_a_conversation_can_be_restored(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = binned(ada, "Sums", 3)
    change(monkeypatch, {"bin_days": 10})
    [shown] = bin_and_archive.shown_bin(ada).conversations
    assert row.deleted_at and shown.gone_at == row.deleted_at + timedelta(days=10) and not shown.is_overdue
    change(monkeypatch, {"bin_days": 3})
    assert "at the next clean-up" in signed_in(ada).get("/bin/").content.decode()
    call_command("purge", stdout=StringIO())
    assert not Conversation.objects.filter(pk=row.pk).exists(), "purge uses the same number of days"


def test_a_long_bin_has_pages(ada: User) -> None:
    Conversation.objects.bulk_create(
        Conversation(owner=ada, title=f"Talk {number}", deleted_at=timezone.now()) for number in range(2 * bin_and_archive.PAGE_SIZE + 1)
    )
    first = bin_and_archive.shown_bin(ada)
    second = bin_and_archive.shown_bin(ada, first.next_cursor)
    third = bin_and_archive.shown_bin(ada, second.next_cursor)
    shown = [each.title for page in (first, second, third) for each in page.conversations]
    assert len(shown) == len(set(shown)) == 2 * bin_and_archive.PAGE_SIZE + 1 and third.next_cursor == ""
    assert f"?list={first.next_cursor}" in signed_in(ada).get("/bin/").content.decode()


def test_only_its_owner_can_erase_from_the_bin_after_confirming(ada: User, bela: User) -> None:
    row, other = binned(ada, "Sums"), Conversation.objects.create(owner=ada, title="Kept")
    client = signed_in(ada)
    for refused, key in ((client, other.pk), (signed_in(bela), row.pk)):
        assert [refused.get(f"/c/{key}/erase/").status_code, refused.post(f"/c/{key}/erase/").status_code] == [404, 404]
    assert "Delete permanently?" in client.get(f"/c/{row.pk}/erase/").content.decode()
    assert Conversation.objects.filter(pk=row.pk).exists(), "asking erases nothing"
    done = client.post(f"/c/{row.pk}/erase/", follow=True).content.decode()
    assert "The conversation was permanently deleted." in done and "The bin is empty." in done
    assert list(Conversation.objects.filter(owner=ada)) == [other]


def test_a_conversation_restored_at_the_same_moment_is_not_erased(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = binned(ada, "Sums")
    look = conversation_actions.in_bin

    def restored_meanwhile(person: User, key: object) -> Conversation:
        found = look(person, key)
        Conversation.objects.filter(pk=row.pk).update(deleted_at=None)
        return found

    monkeypatch.setattr(conversation_actions, "in_bin", restored_meanwhile)
    conversation_actions.erase(ada, row.pk)
    row.refresh_from_db()
    assert row.deleted_at is None and row.unfinished_until is None
