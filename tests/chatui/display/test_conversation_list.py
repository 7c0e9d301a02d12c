"""The conversation list of the side bar: it pages through all conversations, and its length makes no page slower."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chatui.display.conversation_list import PAGE_SIZE, shown_list
from chatui.display.folders import shown_folders
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from tests.chatui.conftest import signed_in
from tests.chatui.store.long_conversations import long_conversation
from tests.support.answer_rows import rows_of
from tests.support.cost import python_calls, relative_cost

pytestmark = pytest.mark.django_db


def make(owner: User, count: int, at: datetime | None = None) -> None:
    """Create conversations, the oldest first; all with the same time if one is given."""
    rows = [Conversation(owner=owner, title=f"Talk {number}") for number in range(count)]
    Conversation.objects.bulk_create(rows, batch_size=500)
    start = timezone.now() - timedelta(days=30)
    for number, row in enumerate(rows):
        row.active_at = at or start + timedelta(minutes=number)
    Conversation.objects.bulk_update(rows, ["active_at"], batch_size=300)


def pages(person: User) -> Iterator[list[str]]:
    shown = shown_list(person)
    yield [link.title for link in shown.conversations]
    while shown.next_cursor:
        shown = shown_list(person, start=shown.next_cursor)
        yield [link.title for link in shown.conversations]


def test_the_list_continues_to_the_oldest_conversation(ada: User, bela: User) -> None:
    make(ada, 2 * PAGE_SIZE + 3)
    make(bela, 5)
    assert list(pages(bela)) == [[f"Talk {number}" for number in range(4, -1, -1)]], "nobody sees those of others"
    found = list(pages(ada))
    assert [len(page) for page in found] == [PAGE_SIZE, PAGE_SIZE, 3]
    assert [title for page in found for title in page] == [f"Talk {number}" for number in range(2 * PAGE_SIZE + 2, -1, -1)]


def test_changes_while_paging_neither_repeat_nor_skip_a_conversation(ada: User) -> None:
    make(ada, 2 * PAGE_SIZE)
    first = shown_list(ada)
    Conversation.objects.filter(pk=first.conversations[-1].id).update(deleted_at=timezone.now())
    Conversation.objects.create(owner=ada, title="New")
    second = shown_list(ada, start=first.next_cursor)
    assert [link.title for link in second.conversations] == [
        f"Talk {number}" for number in range(PAGE_SIZE - 1, -1, -1)
    ] and second.next_cursor == ""


def test_pinned_ones_come_first_across_pages_and_archived_ones_not_at_all(ada: User) -> None:
    make(ada, 2 * PAGE_SIZE + 3)
    own = Conversation.objects.filter(owner=ada)
    titles = [f"Talk {number}" for number in range(2 * PAGE_SIZE + 2, -1, -1)]
    for pinned in ([], titles[-2:], titles[5 : PAGE_SIZE + 5], titles[: PAGE_SIZE + 20], titles):
        own.update(is_pinned=False, archived_at=None)
        own.filter(title__in=pinned).update(is_pinned=True)
        archived = [title for title in titles[::7] if title not in pinned]
        own.filter(title__in=archived).update(archived_at=timezone.now())
        rest = [title for title in titles if title not in pinned and title not in archived]
        assert [title for page in pages(ada) for title in page] == pinned + rest


NO_PLACES = (
    "p",
    "pp1-" + "0" * 32,
    "-1-" + "0" * 32,
    "1-" + "g" * 32,
    "9" * 17 + "-" + "0" * 32,
    "\u0661-" + "0" * 32,
    "\x00",
)


@pytest.mark.parametrize("start", NO_PLACES)
def test_an_invalid_list_position_is_not_found(ada: User, start: str) -> None:
    with pytest.raises(NotFoundError):
        shown_list(ada, start=start)
    client = signed_in(ada)
    assert {client.get(path, {"list": start}).status_code for path in ("/", "/conversations/")} == {404}


def test_without_scripts_a_link_shows_the_rest(ada: User) -> None:
    make(ada, PAGE_SIZE + 2)
    client = signed_in(ada)
    page = re.sub(r"(?s)<template.*?</template>", "", client.get("/").content.decode())
    (link,) = re.findall(r'href="(\?list=[^"]+)"', page)
    rest = client.get(f"/{link}").content.decode()
    assert "Talk 1<" in rest and "Talk 0<" in rest and "Talk 2<" not in rest and 'href="?list=' not in rest
    (fragment,) = re.findall(r'data-fragment="([^"]+)"', page)
    listed = re.findall(r'data-conversation="([^"]+)"', re.sub(r"(?s)<template.*?</template>", "", rest))
    assert re.findall(r'data-conversation="([^"]+)"', client.get(fragment).content.decode()) == listed


def times_slower(page: tuple[Client, str], other: tuple[Client, str]) -> float:
    """How many times the work of one page another is. Both are loaded once before, as the first load reads what later ones do not."""
    assert [client.get(path).status_code for client, path in (page, other)] == [200, 200]
    return relative_cost(lambda: page[0].get(page[1]), lambda: other[0].get(other[1]))


PLAN = r"conversation_listed.*\(owner_id=\? AND is_pinned=\? AND active_at<\?\)|Index (?:Only )?Scan using conversation_listed"


def plan(sql: str) -> str:
    """The database's query plan for a statement."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")  # otherwise a small table is scanned
        cursor.execute(f"EXPLAIN {'QUERY PLAN ' if connection.vendor == 'sqlite' else ''}{sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_each_page_uses_the_index(ada: User) -> None:
    make(ada, PAGE_SIZE + 1)
    with CaptureQueriesContext(connection) as statements:
        shown_list(ada, start=shown_list(ada).next_cursor)
    (query,) = [each["sql"] for each in statements.captured_queries if "<=" in each["sql"]]
    assert re.search(PLAN, plan(query)), plan(query)


def test_each_page_of_a_folder_uses_the_index(ada: User) -> None:
    folder = Folder.objects.create(owner=ada, name="Work")
    make(ada, PAGE_SIZE + 1)
    Conversation.objects.update(folder=folder)
    with CaptureQueriesContext(connection) as statements:
        first = shown_list(ada, folder=folder.pk)
        shown_list(ada, start=first.next_cursor, folder=folder.pk)
        shown_folders(ada, None)
    beginning, rest, _, news = [plan(each["sql"]) for each in statements.captured_queries]
    assert "conversation_in_folder" in beginning and "conversation_in_folder" in rest and "TEMP B-TREE" not in beginning + rest
    assert "conversation_news_in_folder" in news, news


def test_the_addresses_that_pages_and_scripts_put_together_exist(ada: User) -> None:
    """They are written with the key of the conversation, since looking each up by its name was a third of a list's time."""
    row = long_conversation(ada, 2)
    [shown] = [link for link in shown_list(ada).conversations if link.id == str(row.pk)]
    assert {name: f"{shown.url}{name}/" for name in ("put", "rename", "delete", "restore", "branch")} == {
        name: reverse(name, args=[row.pk]) for name in ("put", "rename", "delete", "restore", "branch")
    }
    page = signed_in(ada).get(shown.url).content.decode()
    assert set(re.findall(r'data-path="([^"]*)"', page)) == {shown.url, reverse("conversation", args=[UUID(int=0)])}
    [answer] = set(re.findall(r'id="m-([^"]*)" data-message="[^"]*" data-kind="final"', page))
    [[path]] = [below["finals"] for below in rows_of(page)]
    assert f"{path}text/" == reverse("message_text", args=[row.pk, answer])
    assert f"{path}rating/" == reverse("rating", args=[row.pk, answer])


def test_pages_call_no_more_functions_than_they_did(ada: User) -> None:
    """The time of a page follows the number of its calls, which is the same on every machine."""
    make(ada, 100)
    row = long_conversation(ada, 200)
    client = signed_in(ada)
    for path, limit in (("/", 12_700), ("/conversations/", 6_100), (f"/c/{row.pk}/", 33_200)):
        client.get(path)  # what is read once in a process has been read
        # What is read again after some seconds, such as the list of model servers, is not read each time.
        assert min(python_calls(partial(client.get, path)) for _ in range(3)) <= limit, path


@pytest.mark.slow
def test_thousands_of_conversations_and_a_hundred_folders_make_no_page_slower(ada: User, bela: User) -> None:
    paths = []
    for owner, count in ((ada, 2 * PAGE_SIZE + 2), (bela, 6_000)):
        make(owner, count)
        folders = Folder.objects.bulk_create(Folder(owner=owner, name=f"Folder {number}") for number in range(100))
        rows = list(Conversation.objects.filter(owner=owner).values_list("pk", flat=True))
        Conversation.objects.filter(pk__in=rows[::2]).update(folder=folders[0])
        for number, folder in enumerate(folders[1:]):
            Conversation.objects.filter(pk__in=rows[2 * PAGE_SIZE + 3 + 2 * number :: 400]).update(folder=folder)
        paths.append(["/", "/conversations/", f"/?folder={folders[0].pk}", f"/conversations/?folder={folders[0].pk}"])
    middle = Conversation.objects.filter(owner=bela, folder=None).order_by("-active_at")[1_000]
    start = f"{(middle.active_at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)}-{middle.pk.hex}"
    few, many = signed_in(ada), signed_in(bela)
    for short, long in (*zip(*paths, strict=True), ("/conversations/", f"/conversations/?list={start}")):
        assert times_slower((many, long), (few, short)) <= 1.5, long
