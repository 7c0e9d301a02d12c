"""Hundreds of files of one user in one conversation: no query runs once per file."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chatui.display import files as display_files
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentText, FileContent, FilePiece, FileSource, StoredFile
from chatui.models.user import User
from chatui.store import documents, erasure
from chatui.store import files as store_files
from chatui.store.files import FileDestination, NewFile
from chatui.transfer import exports, files
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import pages, stored_bytes, uploaded
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.limits import set_limits

pytestmark = pytest.mark.django_db
FEW, MANY = 20, 300


@pytest.fixture
def talk(ada: User) -> Conversation:
    return Conversation.objects.create(owner=ada, title="With files")


def fill(row: Conversation, count: int) -> None:
    """Store files with several kinds of content, all of them read, sent in a conversation."""
    contents = FileContent.objects.bulk_create(
        FileContent(owner=row.owner, sha256=f"{number:064x}", size=6, media_type="text/plain") for number in range(count)
    )
    FilePiece.objects.bulk_create(FilePiece(content=each, number=0, data=b"%06d" % number) for number, each in enumerate(contents))
    DocumentText.objects.bulk_create(DocumentText(content=each, state="read", kind="text", bytes=6) for each in contents)
    StoredFile.objects.bulk_create(
        StoredFile(owner=row.owner, conversation=row, content=each, name=f"{number}.txt", source=FileSource.PERSON)
        for number, each in enumerate(contents)
    )


def statements(task: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as queries:
        task()
    return len(queries)


def test_earlier_files_and_quota_need_one_query_for_all_and_an_archive_one_for_each(ada: User, talk: Conversation) -> None:
    fill(talk, MANY)
    assert statements(lambda: files.search(ada, "")) == 1
    assert statements(lambda: store_files.check_room(ada.pk, 0)) == 1 and stored_bytes(ada) == MANY * 12
    archived = {name.partition("/")[2]: content for name, content in exports.conversations(ada, [talk.pk])}
    assert archived["7.txt"] == b"000007", "the premise"
    assert statements(lambda: list(exports.conversations(ada, [talk.pk]))) < 20 + MANY
    assert statements(lambda: documents.elsewhere(talk.pk, uuid4())) == 1


def test_a_page_lists_all_pending_files_with_a_few_statements(ada: User) -> None:
    def queries() -> int:
        display_files.waiting_at(ada, None, "")  # fills the cache of models, which is kept for some seconds
        return statements(lambda: display_files.waiting_at(ada, None, ""))

    uploaded(ada, "one.txt")
    few = queries()
    for number in range(20):
        uploaded(ada, f"{number}.txt", f"Words of {number}")
    pages(ada, 3)
    assert queries() == few
    listed = display_files.waiting_at(ada, None, "")["files"]
    assert len(listed) == 22 and [len(file["places"]) for file in listed] == [0] * 21 + [3]


@pytest.mark.parametrize("kind", ["files", "conversation"])
def test_deletion_takes_as_many_statements_for_few_files_as_for_many(kind: str, ada: User) -> None:
    def queries(count: int) -> int:
        row = Conversation.objects.create(owner=ada, title="With files")
        fill(row, count)
        if kind == "files":
            return statements(lambda: store_files.delete_files(ada.pk, StoredFile.objects.filter(conversation=row)))
        return statements(lambda: erasure.erase_conversation(row.pk))

    few, many = queries(FEW), queries(MANY)
    assert not FileContent.objects.exists() and not FilePiece.objects.exists() and not StoredFile.objects.exists()
    assert many - few < 40, "two more transactions, and what one statement cannot name"


def test_large_contents_are_deleted_one_by_one_in_short_transactions(
    ada: User, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    set_limits(monkeypatch, "chatui.store", DELETED_BYTES=25)
    for number, size in enumerate((10, 10, 10, 100, 5)):
        store_files.save(FileDestination(ada.pk, None), NewFile.of("a", bytes([number]) * size))
    left: list[int] = []

    def counted() -> None:
        left.append(FileContent.objects.count())
        database.before("DELETE FROM chatui_filecontent", counted)

    database.before("DELETE FROM chatui_filecontent", counted)
    store_files.delete_files(ada.pk, StoredFile.objects.filter(owner=ada))
    assert not FileContent.objects.exists() and left == [5, 3, 2, 1]


def test_a_conversation_page_needs_as_many_queries_with_many_files_as_with_none(ada: User, talk: Conversation) -> None:
    client = signed_in(ada)

    def query_count() -> int:
        """One call may refresh a cache that lasts seconds; the next does not."""
        return min(statements(lambda: client.get(f"/c/{talk.pk}/")) for _ in range(3))

    none = query_count()
    fill(talk, MANY)
    assert query_count() == none
    assert statements(lambda: client.get("/files/earlier/")) < 12
