"""Document search: the best passage with its page, in the conversation's own documents only."""

from __future__ import annotations

import pytest
from django.db import connection

from chatui.documents.reading import Part
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPassage, DocumentUse, StoredFile
from chatui.models.user import User
from chatui.store import documents as attached
from chatui.store import passages, search_index
from chatui.store.context_use import Room
from chatui.store.documents import FileUse
from chatui.store.passages import Branch
from chatui.store.transcripts import TreePosition
from tests.chatui.store.documents.uploads import uploaded_with

pytestmark = pytest.mark.django_db

ROOM = Room(100_000, 100_000)


def searched(person: User, *files: StoredFile, use: str = DocumentUse.SEARCH) -> Conversation:
    """A conversation in which these documents were sent."""
    conversation = Conversation.objects.create(owner=person)
    place = TreePosition(None, 0)
    ready = attached.prepare(person.pk, [FileUse(file.pk, use) for file in files], ROOM)
    attached.put(conversation, place, ready)
    for file in files:
        passages.index(file.content_id)
    return conversation


def branch(conversation: Conversation) -> Branch:
    """The branch that ends with the last message."""
    last = conversation.messages.order_by("-position").values_list("pk", flat=True).first()
    assert last is not None
    return Branch(conversation.pk, last)


def report(person: User, name: str = "report.pdf", word: str = "tea") -> StoredFile:
    parts = [Part(f"page {number}", f"{'Words of no interest. ' * 40}\n\nOn page {number}: harvest{number}.") for number in range(1, 30)]
    parts[11] = Part("page 12", f"{'Words of no interest. ' * 40}\n\nThe price of green {word} fell in Übersee by 7%. 緑茶の価格。")
    return uploaded_with(person, name, *parts, kind="pdf")


def test_the_best_passage_comes_first_with_its_page(ada: User) -> None:
    conversation = searched(ada, report(ada))
    for query in ("Why did the price of green tea fall?", "ubersee", "GREEN TEAS price", "茶の価"):
        best, *_ = passages.find(branch(conversation), query, "", 8)
        assert (best.name, best.label) == ("report.pdf", "page 12") and "green tea fell" in best.text, query
    assert [each.label for each in passages.find(branch(conversation), "harvest17", "", 8)] == ["page 17"]
    assert len(passages.find(branch(conversation), "interest", "", 8)) == 8
    assert passages.find(branch(conversation), "zebra price ' \" ( * & | : ! --", "", 8)[0].label == "page 12", (
        "only words count; one is enough"
    )
    assert passages.find(branch(conversation), "zebra", "", 8) == [] == passages.find(branch(conversation), "( ' *", "", 8)


def test_the_search_covers_one_document_or_all(ada: User) -> None:
    conversation = searched(ada, report(ada), report(ada, "other.pdf", "coffee"))
    assert passages.names_in(branch(conversation)) == ["other.pdf", "report.pdf"]
    assert {each.name for each in passages.find(branch(conversation), "price", "", 8)} == {"other.pdf", "report.pdf"}
    assert {each.name for each in passages.find(branch(conversation), "price", "Other.PDF", 8)} == {"other.pdf"}
    assert passages.find(branch(conversation), "price", "no such", 8) == []


def test_documents_of_other_people_conversations_and_uses_are_not_found(ada: User, bela: User) -> None:
    adas, belas = searched(ada, report(ada)), searched(bela, report(bela, "theirs.pdf", "cocoa"))
    elsewhere = searched(ada, report(ada, "elsewhere.pdf", "juice"))
    whole = searched(ada, report(ada, "whole.pdf", "water"), use=DocumentUse.WHOLE)
    assert not passages.are_in(whole.pk) and passages.are_in(adas.pk)
    for word in ("cocoa", "juice", "water"):
        assert passages.find(branch(adas), word, "", 8) == [], word
    assert {each.name for each in passages.find(branch(adas), "price", "", 20)} == {"report.pdf"}
    assert passages.find(branch(belas), "cocoa", "", 8) and passages.find(branch(elsewhere), "juice", "", 8)
    assert passages.find(branch(whole), "water", "", 8) == []


def test_documents_of_another_branch_are_not_found(ada: User) -> None:
    conversation = searched(ada, report(ada))
    other = report(ada, "other.pdf", "coffee")
    attached.put(conversation, TreePosition(None, 1), attached.prepare(ada.pk, [FileUse(other.pk, DocumentUse.SEARCH)], ROOM))
    passages.index(other.content_id)
    assert passages.names_in(branch(conversation)) == ["other.pdf"]
    assert {each.name for each in passages.find(branch(conversation), "price", "", 20)} == {"other.pdf"}
    assert passages.find(branch(conversation), "price", "report.pdf", 20) == []


def test_a_deleted_document_leaves_no_passage(ada: User) -> None:
    file, other = report(ada), report(ada, "other.pdf", "coffee")
    conversation = searched(ada, file, other)
    attached.delete(file)
    assert passages.names_in(branch(conversation)) == ["other.pdf"] and passages.find(branch(conversation), "tea", "", 8) == []
    assert set(DocumentPassage.objects.values_list("content", flat=True)) == {other.content_id}


def test_a_document_is_indexed_once_and_completely(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "_BATCH_ROWS", 7)
    file = report(ada)
    searched(ada, file)
    before = list(DocumentPassage.objects.order_by("number").values_list("pk", "number"))
    assert [number for _, number in before] == list(range(1, 30))
    passages.index(file.content_id)
    assert list(DocumentPassage.objects.order_by("number").values_list("pk", "number")) == before
    DocumentPassage.objects.filter(number__lte=20).delete()
    passages.index(file.content_id)
    assert DocumentPassage.objects.count() == 29, "a process that died half-way left the first ones out"


def test_the_index_matches_the_table(ada: User) -> None:
    file = report(ada)
    searched(ada, file)
    DocumentPassage.objects.filter(number__gt=5).delete()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO chatui_passages(chatui_passages) VALUES ('integrity-check')")


@pytest.mark.slow
def test_no_word_of_a_deleted_document_is_left_in_the_index(ada: User) -> None:
    files = [
        uploaded_with(ada, f"{word}.txt", Part("", f"{word} and more words. " * 10_000)) for word in ("asparagus", "broccoli", "cabbage")
    ]
    for file in files:
        searched(ada, file)
    attached.delete(files[1])
    assert b"broccoli" in index_bytes(), "the index is emptied without it, so this test would prove nothing"
    search_index.tidy()
    assert b"broccoli" not in index_bytes() and b"cabbage" in index_bytes()


def index_bytes() -> bytes:
    with connection.cursor() as cursor:
        return b"".join(row[0] for row in cursor.execute("SELECT block FROM chatui_passages_data").fetchall())
