"""Which of a person's conversations, messages, folders and files each list and look-up includes, and that pages neither skip nor repeat."""

import contextlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import TypeVar

import pytest
from django.utils import timezone

from chatui.models.conversation import Conversation, Folder
from chatui.models.files import FileContent, FileSource, StoredFile
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access, files
from chatui.permissions.access import ListedConversation, NotFoundError
from renderer.frames import Frame, Header
from tests.support.messages import add_message
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
STATES: dict[str, dict[str, datetime]] = {
    "plain": {},
    "archived": {"archived_at": NOW},
    "binned": {"deleted_at": NOW},
    "binned from the archive": {"archived_at": NOW, "deleted_at": NOW},
    "unfinished": {"deleted_at": NOW, "unfinished_until": NOW},
    "temporary": {"temporary_until": NOW},
    "temporary in the bin": {"temporary_until": NOW, "deleted_at": NOW},
}
KEPT = {"plain", "archived", "in a folder"}


@pytest.fixture
def folder(ada: User) -> Folder:
    return Folder.objects.create(owner=ada, name="Work")


@pytest.fixture
def rows(ada: User, bela: User, folder: Folder) -> dict[str, Conversation]:
    """Ada's conversations in every state, by title, and one of Bela's."""
    for title, fields in STATES.items():
        Conversation.objects.create(owner=ada, title=title, import_key=title, **fields)
    Conversation.objects.create(owner=ada, title="in a folder", folder=folder)
    Conversation.objects.create(owner=bela, title="Bela's", import_key="Bela's")
    return {row.title: row for row in Conversation.objects.all()}


def titles(rows: Iterable[Conversation | ListedConversation]) -> list[str]:
    return sorted(row.title for row in rows)


def found(rows: dict[str, Conversation], look_up: Callable[[Conversation], object]) -> set[str]:
    """The titles of the conversations that ``look_up`` returns and does not refuse."""
    allowed = set()
    for title, row in rows.items():
        with contextlib.suppress(NotFoundError):
            assert look_up(row) == row
            allowed.add(title)
    return allowed


def test_each_list_includes_only_its_own_kind_of_conversation(ada: User, folder: Folder, rows: dict[str, Conversation]) -> None:
    assert titles(access.own_conversations(ada, 20)) == ["plain"]
    assert titles(access.own_conversations(ada, 20, folder=folder.pk)) == ["in a folder"]
    assert titles(access.own_archive(ada)) == ["archived"]
    assert titles(access.latest(access.own_bin(ada), "deleted_at", 20)) == ["binned", "binned from the archive"]
    assert titles(access.all_own_conversations(ada)) == sorted(KEPT)
    assert titles(access.own_conversations_of(ada, [row.pk for row in rows.values()]).values()) == sorted(KEPT)
    assert access.own_import_keys(ada) == KEPT - {"in a folder"}


def test_each_look_up_finds_only_its_own_kind_of_conversation(ada: User, rows: dict[str, Conversation]) -> None:
    assert found(rows, lambda row: access.own_conversation(ada, row.pk)) == KEPT | {"temporary"}
    binned = {"binned", "binned from the archive", "temporary in the bin"}
    assert found(rows, lambda row: access.own_conversation(ada, row.pk, deleted=True)) == binned
    assert found(rows, lambda row: access.own_permanent(ada, row.pk)) == KEPT
    assert found(rows, lambda row: access.own_temporary(ada, row.pk)) == {"temporary"}


def test_a_conversation_that_is_opened_is_found_as_by_a_look_up(ada: User, bela: User, rows: dict[str, Conversation]) -> None:
    assert found(rows, lambda row: access.own_opened(ada, str(row.pk), "1")[0]) == KEPT | {"temporary"}
    assert access.own_opened(bela, rows["Bela's"].pk, "title") == (rows["Bela's"], False, ("Bela's",))
    for person, key in ((ada, "nonsense"), (None, rows["plain"].pk)):
        with pytest.raises(NotFoundError):
            access.own_opened(person, key)
    ada.is_active = False
    assert found(rows, lambda row: access.own_opened(ada, row.pk)[0]) == set()


def say(row: Conversation) -> Message:
    return add_message(row, None, Frame(Header("user"), "Why?"), Author.PERSON)


def test_messages_are_found_only_in_listed_conversations(ada: User, rows: dict[str, Conversation]) -> None:
    keys = [say(row).pk for row in rows.values()]
    assert titles(row.conversation for row in access.own_messages(ada, keys).values()) == sorted(KEPT)


def file_in(owner: User, row: Conversation | None, source: FileSource = FileSource.PERSON) -> StoredFile:
    content, _ = FileContent.objects.get_or_create(owner=owner, sha256="0" * 64, size=0, media_type="text/plain")
    return StoredFile.objects.create(owner=owner, conversation=row, content=content, name="notes.txt", source=source)


def test_a_file_is_found_where_its_conversation_is_and_sent_again_from_listed_ones(ada: User, rows: dict[str, Conversation]) -> None:
    stored = {title: file_in(row.owner, row) for title, row in rows.items()}
    made = [file_in(ada, rows["plain"], FileSource.TOOL), file_in(rows["Bela's"].owner, rows["plain"])]
    assert found(rows, lambda row: files.own_file(ada, stored[row.title].pk).conversation) == KEPT | {"temporary"}
    assert titles(file.conversation for file in files.own_documents(ada) if file.conversation) == sorted(KEPT)
    assert not set(made) & set(files.own_documents(ada)), "people send only what they brought in themselves"


def test_a_file_in_no_conversation_is_found_only_by_whoever_brought_it_in(ada: User, bela: User) -> None:
    waiting = file_in(ada, None)
    assert files.own_file(ada, waiting.pk) == waiting and not files.own_documents(ada).exists()
    left_over = file_in(ada, None, FileSource.TOOL)
    for person, file in ((bela, waiting), (ada, left_over)):
        with pytest.raises(NotFoundError):
            files.own_file(person, file.pk)


def test_a_file_in_somebody_elses_conversation_is_not_found(ada: User, rows: dict[str, Conversation]) -> None:
    with pytest.raises(NotFoundError):
        files.own_file(ada, file_in(ada, rows["Bela's"]).pk)


def test_folders_are_listed_by_name_for_their_owner_with_news_of_listed_conversations(ada: User, bela: User, folder: Folder) -> None:
    play, other = Folder.objects.create(owner=ada, name="play"), Folder.objects.create(owner=bela, name="Other")
    read = Conversation.objects.create(owner=ada, folder=folder)
    Conversation.objects.create(owner=bela, folder=folder, has_news=True)
    for fields in STATES.values():
        if fields:
            Conversation.objects.create(owner=ada, folder=folder, has_news=True, **fields)
    assert [(each.name, each.has_news) for each in access.own_folders(ada)] == [("play", False), ("Work", False)]
    Conversation.objects.filter(pk=read.pk).update(has_news=True)
    assert [(each.name, each.has_news) for each in access.own_folders(ada)] == [("play", False), ("Work", True)]
    assert access.own_folder(ada, play.pk) == access.own_folder(ada, str(play.pk), locked=True) == play
    for key in (other.pk, "nonsense"):
        for locked in (False, True):
            with pytest.raises(NotFoundError):
                access.own_folder(ada, key, locked=locked)


Row = TypeVar("Row", Conversation, ListedConversation)
TIMES = [NOW + timedelta(hours=hours) for hours in (1, 0, 2, 0, 1, 0)]
"""In another order than the keys: a conversation may be older than one that was used, archived or deleted before it."""


def pages(page_after: Callable[[Row | None], list[Row]], size: int) -> list[str]:
    """The titles of all pages of a list, one page after the other."""
    read: list[Row] = []
    while more := page_after(read[-1] if read else None):
        assert len(more) <= size
        read += more
        assert len(read) <= 20, "a page is repeated"
    return [row.title for row in read]


@pytest.mark.parametrize("size", [1, 5])
def test_pages_of_the_list_put_pinned_ones_first_and_neither_skip_nor_repeat_any(size: int, ada: User) -> None:
    for number, (pinned, at) in enumerate(product((False, True), TIMES)):
        row = Conversation.objects.create(owner=ada, title=str(number), is_pinned=pinned)
        Conversation.objects.filter(pk=row.pk).update(active_at=at)
    rows = sorted(Conversation.objects.all(), key=lambda row: (row.is_pinned, row.active_at, row.pk), reverse=True)
    read = pages(lambda last: access.own_conversations(ada, size, (last.is_pinned, last.active_at, last.pk) if last else None), size)
    assert read == [row.title for row in rows] and len(read) == 12


@pytest.mark.parametrize("column", ["archived_at", "deleted_at"])
@pytest.mark.parametrize("size", [1, 5])
def test_pages_of_the_archive_and_the_bin_neither_skip_nor_repeat_any(column: str, size: int, ada: User) -> None:
    for number, at in enumerate(TIMES):
        Conversation.objects.create(owner=ada, title=str(number), **{column: at})
    rows = sorted(Conversation.objects.all(), key=lambda row: (getattr(row, column), row.pk), reverse=True)
    listed = access.own_archive(ada) if column == "archived_at" else access.own_bin(ada)
    read = pages(lambda last: access.latest(listed, column, size, (getattr(last, column), last.pk) if last else None), size)
    assert read == [row.title for row in rows] and len(read) == 6


def test_the_list_says_in_which_conversations_an_answer_is_being_written(ada: User) -> None:
    writing, ended = (store(ada, ask()).turn for _ in range(2))
    Turn.objects.filter(pk=ended.pk).update(state="completed")
    running = {row.pk: row.is_running for row in access.own_conversations(ada, 20)}
    assert running == {writing.conversation_id: True, ended.conversation_id: False}


def test_all_conversations_come_the_oldest_first_and_without_those_that_are_deleted_meanwhile(ada: User) -> None:
    rows = [Conversation.objects.create(owner=ada, title=title) for title in ("first", "second", "third")]
    Conversation.objects.filter(pk=rows[0].pk).update(created_at=timezone.now() + timedelta(days=1))
    each = access.all_own_conversations(ada)
    assert next(each).title == "second"
    Conversation.objects.filter(pk=rows[2].pk).update(deleted_at=NOW)
    assert [row.title for row in each] == ["first"]
