"""A person's own data: several conversations at once, all of them, the bin, and undoing the last change; nothing of anybody else."""

import io
import re
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from django.utils import timezone

from chatui.display import own_data
from chatui.display.conversation_list import PAGE_SIZE
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation, Folder
from chatui.models.message import Author
from chatui.models.shares import ShareLink
from chatui.models.user import User
from chatui.store import erasure
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.support.browser_socket import BrowserSocket
from tests.support.messages import add_message
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()


@pytest.fixture
def work(ada: User) -> Folder:
    return Folder.objects.create(owner=ada, name="Work")


@pytest.fixture
def rows(ada: User, work: Folder) -> dict[str, Conversation]:
    """One conversation in each place, and one that is being answered."""
    places: dict[str, dict[str, Any]] = {
        "plain": {},
        "pinned": {"is_pinned": True},
        "in a folder": {"folder": work},
        "archived": {"archived_at": NOW},
        "binned": {"deleted_at": NOW - timedelta(days=1)},
        "temporary": {"temporary_until": NOW + timedelta(hours=1)},
    }
    made = {title: Conversation.objects.create(owner=ada, title=title, **place) for title, place in places.items()}
    asked = store(ada, ask(text="Why?"))
    Conversation.objects.filter(pk=asked.turn.conversation_id).update(title="running")
    return made | {"running": asked.turn.conversation}


def places(person: User) -> dict[str, tuple[object, ...]]:
    """Where each of the person's conversations is."""
    columns = ("title", "is_pinned", "archived_at", "folder", "deleted_at", "unfinished_until")
    return {title: place for title, *place in Conversation.objects.filter(owner=person).values_list(*columns)}


def act(client: Client, action: str, *chosen: Conversation, **fields: str) -> Any:
    data = {"action": action, "conversation": [str(row.pk) for row in chosen], **fields}
    return client.post("/conversations/choose/", data)


def undo(client: Client, page: str) -> Any:
    [key] = re.findall(r'name="key" value="(\w+)"', client.get(page).content.decode())
    return client.post("/conversations/undo/", {"key": key, "next": "/settings/data/?changed"})


def test_all_conversations_go_to_the_bin_but_not_one_that_is_answered_and_come_back_to_their_places(
    ada: User, bela: User, rows: dict[str, Conversation]
) -> None:
    Conversation.objects.create(owner=bela, title="Bela's")
    client, before, of_bela = signed_in(ada), places(ada), places(bela)
    question = client.get("/settings/data/delete/").content.decode()
    assert "4 conversations go to the bin" in question and "1 stays, because an answer is being written in it." in question
    assert places(ada) == before, "asking deletes nothing"
    assert client.post("/settings/data/delete/")["Location"] == "/settings/data/?changed"
    in_bin = {title for title, place in places(ada).items() if place[3]}
    assert in_bin == {"plain", "pinned", "in a folder", "archived", "binned"}
    page = client.get("/settings/data/?changed").content.decode()
    assert "Moved 4 conversations to the bin. 1 stays" in page
    assert AuditEvent.objects.get(action="delete all conversations").detail == "4 into the bin"
    assert undo(client, "/settings/data/?changed")["Location"] == "/settings/data/?changed"
    assert places(ada) == before and places(bela) == of_bela, "what was in the bin before stays there"
    assert "4 conversations are back where they were." in client.get("/settings/data/?changed").content.decode()


def test_what_share_links_then_show_is_said_before(ada: User, rows: dict[str, Conversation]) -> None:
    client = signed_in(ada)
    assert "shared link" not in client.get("/settings/data/delete/").content.decode().partition("<main")[2]
    for number, title in enumerate(("plain", "archived")):
        leaf = add_message(rows[title], None, Frame(Header("user"), "Why?"), Author.PERSON)
        ShareLink.objects.create(token=f"token{number}", conversation=rows[title], leaf=leaf, created_by=ada)
    assert client.get("/s/token0/").status_code == 200
    assert "2 shared links then show nothing, until you restore" in client.get("/settings/data/delete/").content.decode()
    client.post("/settings/data/delete/")
    assert client.get("/s/token0/").status_code == 404
    undo(client, "/settings/data/?changed")
    assert client.get("/s/token0/").status_code == 200


@pytest.mark.parametrize(("action", "place"), [("delete", 3), ("archive", 1), ("move", 2)])
def test_several_are_changed_at_once_and_undone(
    action: str, place: int, ada: User, bela: User, work: Folder, rows: dict[str, Conversation]
) -> None:
    other = Conversation.objects.create(owner=bela, title="Bela's")
    client, before = signed_in(ada), places(ada)
    chosen = [rows[title] for title in ("plain", "pinned", "archived", "temporary", "binned")] + [other]
    answer = act(client, action, *chosen, folder=str(work.pk))
    assert answer["Location"] == "/conversations/choose/?changed"
    now = places(ada)
    assert all(now[title][place] for title in ("plain", "pinned", "archived"))
    assert not any(now[title][0] for title in ("plain", "pinned", "archived")) or action == "delete"
    untouched = ("in a folder", "temporary", "binned", "running")
    assert {title: now[title] for title in untouched} == {title: before[title] for title in untouched}
    assert not any(places(bela)["Bela's"])
    undo(client, "/conversations/choose/?changed")
    assert places(ada) == before


def test_an_undo_belongs_to_the_last_change_and_is_used_once(ada: User, bela: User, rows: dict[str, Conversation]) -> None:
    client = signed_in(ada)
    headers = {"accept": "application/json"}
    keys = [
        client.post("/conversations/choose/", {"action": "archive", "conversation": [row.pk]}, headers=headers).json()["undo"]
        for row in (rows["plain"], rows["pinned"])
    ]
    for stranger in (signed_in(bela), signed_in(ada)):
        assert stranger.post("/conversations/undo/", {"key": keys[1]}).status_code == 404, "another session"
    expected = [(keys[0], 404), ("", 404), (keys[1], 200), (keys[1], 404)]
    assert [client.post("/conversations/undo/", {"key": key}, headers=headers).status_code for key, _ in expected] == [
        status for _, status in expected
    ]
    assert places(ada)["plain"][1] and places(ada)["pinned"][0] and not places(ada)["pinned"][1]


def test_an_undo_after_the_folder_was_deleted_or_one_was_erased_does_what_it_can(
    ada: User, work: Folder, rows: dict[str, Conversation]
) -> None:
    client = signed_in(ada)
    act(client, "move", rows["in a folder"], rows["plain"], rows["pinned"], folder="")
    client.post(f"/folders/{work.pk}/delete/")
    erasure.erase_conversation(rows["plain"].pk)
    undo(client, "/conversations/choose/?changed")
    assert not any(places(ada)["in a folder"]) and places(ada)["pinned"][0] and "plain" not in places(ada)


def test_what_was_imported_again_meanwhile_is_restored_without_its_key(ada: User) -> None:
    row = Conversation.objects.create(owner=ada, title="old", import_key="k")
    client = signed_in(ada)
    act(client, "delete", row)
    Conversation.objects.create(owner=ada, title="new", import_key="k")
    undo(client, "/conversations/choose/?changed")
    assert dict(Conversation.objects.filter(deleted_at=None).values_list("title", "import_key")) == {"old": "", "new": "k"}


def test_choosing_none_or_too_many_changes_nothing_and_says_why(
    ada: User, rows: dict[str, Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, before = signed_in(ada), places(ada)
    none = act(client, "delete")
    assert none.status_code == 400 and "Choose at least one conversation." in none.content.decode()
    monkeypatch.setattr("chatui.web.own_data.MAX_CHOSEN", 1)
    many = act(client, "delete", rows["plain"], rows["pinned"])
    assert many.status_code == 400 and "Choose at most 1 conversations at once." in many.content.decode()
    assert places(ada) == before


def test_one_that_is_being_answered_stays_when_it_is_chosen(ada: User, rows: dict[str, Conversation]) -> None:
    client, before = signed_in(ada), places(ada)
    act(client, "delete", rows["running"])
    page = client.get("/conversations/choose/?changed").content.decode()
    assert places(ada) == before and "1 stays, because an answer is being written in it." in page
    assert 'name="key"' not in page, "there is nothing to undo"


def test_the_chosen_ones_are_downloaded_and_nothing_of_others(ada: User, bela: User, rows: dict[str, Conversation]) -> None:
    other = Conversation.objects.create(owner=bela, title="Bela's")
    answer = act(signed_in(ada), "download", rows["plain"], rows["archived"], rows["binned"], rows["temporary"], other)
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as held:
        names = {name for name in held.namelist() if name.endswith(".md")}
        assert len(held.namelist()) == 6, "nothing else of the person"
    assert names == {f"{rows[title].created_at:%Y-%m-%d}-{title}-{rows[title].pk.hex[-8:]}.md" for title in ("plain", "archived")}


def test_the_page_with_boxes_lists_all_places_in_pages(ada: User, bela: User, work: Folder) -> None:
    Conversation.objects.create(owner=bela, title="Bela's")
    for number in range(PAGE_SIZE + 1):
        Conversation.objects.create(owner=ada, title=f"Talk {number}", folder=work if number % 2 else None)
    first = own_data.choosable(ada)
    second = own_data.choosable(ada, first.next_cursor)
    shown = [each.title for each in (*first.conversations, *second.conversations)]
    assert len(shown) == len(set(shown)) == PAGE_SIZE + 1 and not second.next_cursor and first.conversations[1].folder_name == "Work"
    page = signed_in(ada).get("/conversations/choose/").content.decode()
    assert page.count('type="checkbox"') == PAGE_SIZE and first.next_cursor in page and "Bela's" not in page


def test_the_bin_is_emptied_after_a_question_and_for_good(ada: User, bela: User, rows: dict[str, Conversation]) -> None:
    Conversation.objects.create(owner=bela, title="Bela's", deleted_at=NOW)
    client = signed_in(ada)
    assert "1 conversation will be permanently deleted" in client.get("/bin/empty/").content.decode()
    act(client, "delete", rows["plain"])
    done = client.post("/bin/empty/", follow=True).content.decode()
    assert "What was in the bin is being permanently deleted." in done and "plain" not in done
    assert client.post(f"/c/{rows['plain'].pk}/restore/").status_code == 404
    undo(client, "/conversations/choose/?changed")
    assert "plain" not in [each.title for each in own_data.choosable(ada).conversations], "what is being erased does not come back"
    assert AuditEvent.objects.get(action="empty the bin").detail == "2 conversations"
    assert erasure.erase_unfinished(0) == 1, "one more at least, however little time there is"
    assert erasure.erase_unfinished() == 1
    assert set(places(ada)) == {"pinned", "in a folder", "archived", "temporary", "running"} and places(bela)


async def test_every_page_learns_of_each_change(ada: User, rows: dict[str, Conversation]) -> None:
    client = await database_sync_to_async(signed_in)(ada)
    async with BrowserSocket(ada) as socket:
        await database_sync_to_async(act)(client, "archive", rows["plain"])
        assert await socket.next() == {"type": "chatui:archived", "conversation": str(rows["plain"].pk)}
        await database_sync_to_async(undo)(client, "/conversations/choose/?changed")
        back = await socket.next()
        assert (back["type"], back["conversation"]) == ("chatui:listed", str(rows["plain"].pk))
        await database_sync_to_async(act)(client, "delete", rows["plain"], rows["pinned"])
        gone = {(event["type"], event["conversation"]) for event in [await socket.next(), await socket.next()]}
        assert gone == {("chatui:unlisted", str(rows[title].pk)) for title in ("plain", "pinned")}
