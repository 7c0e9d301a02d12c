"""Pinned and archived conversations, and the bin: where they are listed, how they are restored, and which pages are notified.

What is in the bin expires, and can be erased for good.
"""

from datetime import timedelta
from io import StringIO

import pytest
from channels.db import database_sync_to_async
from django.core.management import call_command
from django.utils import timezone

from chatui.display import conversation_actions, conversation_list, search
from chatui.display.conversation_list import shown_list
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.store import search_index
from chatui.store.titles import title_text
from tests.chatui.conftest import signed_in
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.environment import change
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)


def titles(person: User) -> tuple[list[str], list[str]]:
    """The titles in the list, and those in the archive."""
    listed, archived = shown_list(person), conversation_list.shown_archive(person)
    return [each.title for each in listed.conversations], [each.title for each in archived.conversations]


def test_a_conversation_is_listed_in_one_place(ada: User, bela: User) -> None:
    rows = {title: Conversation.objects.create(owner=ada, title=title) for title in ("A", "B", "C")}
    client = signed_in(ada)
    for title, place, expected in (
        ("A", "pinned", (["A", "C", "B"], [])),
        ("A", "archive", (["C", "B"], ["A"])),
        ("A", "archive", (["C", "B"], ["A"])),
        ("B", "archive", (["C"], ["B", "A"])),
        ("A", "pinned", (["A", "C"], ["B"])),
        ("A", "list", (["C", "A"], ["B"])),
    ):
        assert client.post(f"/c/{rows[title].pk}/put/", {"place": place}).status_code == 302
        assert titles(ada) == expected, (title, place)
    assert client.post(f"/c/{rows['A'].pk}/put/", {"place": "bin"}).status_code == 404
    assert signed_in(bela).post(f"/c/{rows['A'].pk}/put/", {"place": "archive"}).status_code == 404
    assert titles(ada) == (["C", "A"], ["B"]) and titles(bela) == ([], [])


def test_the_archive_has_pages_and_actions_return_to_it(ada: User) -> None:
    now = timezone.now()
    Conversation.objects.bulk_create(
        Conversation(owner=ada, title=f"Talk {n}", archived_at=now) for n in range(conversation_list.PAGE_SIZE + 2)
    )
    first = conversation_list.shown_archive(ada)
    second = conversation_list.shown_archive(ada, first.next_cursor)
    assert (
        len({each.id for each in (*first.conversations, *second.conversations)}) == conversation_list.PAGE_SIZE + 2
        and not second.next_cursor
    )
    moved = first.conversations[0].id
    answer = signed_in(ada).post(f"/c/{moved}/put/", {"place": "list", "back": "archive"})
    assert answer["Location"] == "/archived/" and not Conversation.objects.get(pk=moved).archived_at


def test_search_finds_archived_conversations_and_marks_them(ada: User) -> None:
    row = Conversation.objects.create(owner=ada, title="Zymurgy", title_is_custom=True)
    search_index.put_title(row, title_text(row))
    [hit] = search.search(ada, "zymurgy").hits
    assert not hit.is_archived
    client = signed_in(ada)
    client.post(f"/c/{row.pk}/put/", {"place": "archive"})
    [hit] = search.search(ada, "zymurgy").hits
    assert hit.is_archived and "Archived" in client.get("/search/?q=zymurgy").content.decode()


async def test_every_page_is_notified_and_a_new_message_restores_it(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as aside:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.until(*ENDS)
        await aside.until("chatui:answered")
        client = await database_sync_to_async(signed_in)(ada)

        async def put(place: str) -> dict[str, object]:
            await database_sync_to_async(client.post)(f"{accepted['url']}put/", {"place": place})
            return await aside.next()

        pinned = await put("pinned")
        assert (pinned["type"], pinned["is_pinned"]) == ("chatui:listed", True)
        assert await put("archive") == {"type": "chatui:archived", "conversation": accepted["conversation"]}
        await database_sync_to_async(client.post)(f"{accepted['url']}delete/")
        assert (await aside.next())["type"] == "chatui:unlisted"
        await database_sync_to_async(client.post)(f"{accepted['url']}restore/")
        assert (await aside.next())["type"] == "chatui:archived", "it comes back to where it was"
        await socket.send_message(conversation=accepted["conversation"])
        back = (await aside.until("chatui:listed"))[-1]
        assert (back["conversation"], back["is_pinned"]) == (accepted["conversation"], False)
        await socket.until(*ENDS)
    assert not (await Conversation.objects.aget(pk=accepted["conversation"])).archived_at


def binned(owner: User, title: str, days: float = 1, **also: object) -> Conversation:
    deleted_at = timezone.now() - timedelta(days=days)
    return Conversation.objects.create(owner=owner, title=title, deleted_at=deleted_at, **also)


def test_it_lists_only_the_persons_deleted_conversations_newest_first(ada: User, bela: User) -> None:
    binned(ada, "Older", 2)
    binned(ada, "Newer", 1)
    binned(ada, "Half an import", unfinished_until=timezone.now() + timedelta(minutes=1))
    binned(bela, "Of somebody else")
    Conversation.objects.create(owner=ada, title="In the list")
    assert [each.title for each in conversation_list.shown_bin(ada).conversations] == ["Newer", "Older"]
    page = signed_in(ada).get("/bin/").content.decode()
    assert "Newer" in page and "Half an import" not in page and "Of somebody else" not in page and "In the list" not in page


def test_it_says_until_when_a_conversation_can_be_restored(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = binned(ada, "Sums", 3)
    change(monkeypatch, {"bin_days": 10})
    [shown] = conversation_list.shown_bin(ada).conversations
    assert row.deleted_at and shown.gone_at == row.deleted_at + timedelta(days=10) and not shown.is_overdue
    change(monkeypatch, {"bin_days": 3})
    assert "at the next clean-up" in signed_in(ada).get("/bin/").content.decode()
    call_command("purge", stdout=StringIO())
    assert not Conversation.objects.filter(pk=row.pk).exists(), "purge uses the same number of days"


def test_a_long_bin_has_pages(ada: User) -> None:
    Conversation.objects.bulk_create(
        Conversation(owner=ada, title=f"Talk {number}", deleted_at=timezone.now()) for number in range(2 * conversation_list.PAGE_SIZE + 1)
    )
    first = conversation_list.shown_bin(ada)
    second = conversation_list.shown_bin(ada, first.next_cursor)
    third = conversation_list.shown_bin(ada, second.next_cursor)
    shown = [each.title for page in (first, second, third) for each in page.conversations]
    assert len(shown) == len(set(shown)) == 2 * conversation_list.PAGE_SIZE + 1 and third.next_cursor == ""
    assert f"?list={first.next_cursor}" in signed_in(ada).get("/bin/").content.decode()


def test_only_its_owner_can_erase_from_the_bin_after_confirming(ada: User, bela: User) -> None:
    row, other = binned(ada, "Sums"), Conversation.objects.create(owner=ada, title="PooledProgram")
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
