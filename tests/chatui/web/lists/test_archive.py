"""Pinned and archived conversations: where they are listed, how they are restored, and which pages are notified."""

from __future__ import annotations

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.display import conversation_list as bin_and_archive
from chatui.display import search
from chatui.display.conversation_list import shown_list
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.store import search_index, transcripts
from tests.chatui.conftest import signed_in
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)


def titles(person: User) -> tuple[list[str], list[str]]:
    """The titles in the list, and those in the archive."""
    return [link.title for link in shown_list(person).links], [each.title for each in bin_and_archive.shown_archive(person).conversations]


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
        Conversation(owner=ada, title=f"Talk {n}", archived_at=now) for n in range(bin_and_archive.PAGE_SIZE + 2)
    )
    first = bin_and_archive.shown_archive(ada)
    second = bin_and_archive.shown_archive(ada, first.next_cursor)
    assert (
        len({each.id for each in (*first.conversations, *second.conversations)}) == bin_and_archive.PAGE_SIZE + 2 and not second.next_cursor
    )
    moved = first.conversations[0].id
    answer = signed_in(ada).post(f"/c/{moved}/put/", {"place": "list", "back": "archive"})
    assert answer["Location"] == "/archived/" and not Conversation.objects.get(pk=moved).archived_at


def test_search_finds_archived_conversations_and_marks_them(ada: User) -> None:
    row = Conversation.objects.create(owner=ada, title="Zymurgy", title_is_custom=True)
    search_index.put_title(row, transcripts.title_text(row))
    [hit] = search.search(ada, "zymurgy").hits
    assert not hit.is_archived
    client = signed_in(ada)
    client.post(f"/c/{row.pk}/put/", {"place": "archive"})
    [hit] = search.search(ada, "zymurgy").hits
    assert hit.is_archived and "Archived" in client.get("/search/?q=zymurgy").content.decode()


@pytest.mark.asyncio
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
