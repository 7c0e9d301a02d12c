"""Document search: the best passage with its page, in the conversation's own documents, or in all that a user sent.

A user's own search finds documents only if they switched it on, and only their own.
"""

import pytest
from django.db import connection
from django.utils import timezone

from chatui.documents.reading import TextPart
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPassage, DocumentUse, StoredFile
from chatui.models.user import User
from chatui.store import documents, passages, search_index, search_words
from chatui.store.context_use import Room
from chatui.store.passages import SearchedBranch
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import uploaded_with
from tests.support.messages import add_documents

pytestmark = pytest.mark.django_db

ROOM = Room(100_000)


def searched(person: User, *files: StoredFile, use: str = DocumentUse.SEARCH) -> Conversation:
    """A conversation in which these documents were sent."""
    conversation = Conversation.objects.create(owner=person)
    add_documents(conversation, *files, use=use)
    for file in files:
        passages.index(file.content_id)
    return conversation


def branch(conversation: Conversation) -> SearchedBranch:
    """The branch that ends with the last message."""
    last = conversation.messages.order_by("-position").values_list("pk", flat=True).first()
    assert last is not None
    return SearchedBranch(conversation.pk, last)


def report(person: User, name: str = "report.pdf", word: str = "tea") -> StoredFile:
    parts = [
        TextPart(f"page {number}", f"{'Words of no interest. ' * 40}\n\nOn page {number}: harvest{number}.") for number in range(1, 30)
    ]
    parts[11] = TextPart("page 12", f"{'Words of no interest. ' * 40}\n\nThe price of green {word} fell in Übersee by 7%. 緑茶の価格。")
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
    add_documents(conversation, other, use=DocumentUse.SEARCH)
    passages.index(other.content_id)
    assert passages.names_in(branch(conversation)) == ["other.pdf"]
    assert {each.name for each in passages.find(branch(conversation), "price", "", 20)} == {"other.pdf"}
    assert passages.find(branch(conversation), "price", "report.pdf", 20) == []


def test_a_deleted_document_leaves_no_passage(ada: User) -> None:
    file, other = report(ada), report(ada, "other.pdf", "coffee")
    conversation = searched(ada, file, other)
    documents.delete(file)
    assert passages.names_in(branch(conversation)) == ["other.pdf"] and passages.find(branch(conversation), "tea", "", 8) == []
    assert set(DocumentPassage.objects.values_list("content", flat=True)) == {other.content_id}


def test_a_document_is_indexed_once_and_completely(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "BATCH_ROWS", 7)
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
        uploaded_with(ada, f"{word}.txt", TextPart("", f"{word} and more words. " * 10_000))
        for word in ("asparagus", "broccoli", "cabbage")
    ]
    for file in files:
        searched(ada, file)
    documents.delete(files[1])
    assert b"broccoli" in index_bytes(), "the index is emptied without it, so this test would prove nothing"
    search_index.tidy()
    assert b"broccoli" not in index_bytes() and b"cabbage" in index_bytes()


def index_bytes() -> bytes:
    with connection.cursor() as cursor:
        return b"".join(row[0] for row in cursor.execute("SELECT block FROM chatui_passages_data").fetchall())


def sent_document(person: User, word: str, name: str = "report.pdf") -> StoredFile:
    """Send a document of two pages in a conversation of theirs that was never searched."""
    file = uploaded_with(person, name, TextPart("page 1", "An introduction."), TextPart("page 2", f"The price of {word} fell."), kind="pdf")
    file.conversation = Conversation.objects.create(owner=person, title="Figures")
    file.save()
    return file


def results_page(person: User, query: str) -> str:
    """The results page for a user with their current settings."""
    return signed_in(User.objects.get(pk=person.pk)).get("/search/", {"q": query}).content.decode()


def with_search_on(person: User) -> User:
    """The same user with the search switched on."""
    settings = {"finds_documents": "on", "effort": "", "language": "en"}
    assert signed_in(person).post("/settings/", settings).status_code == 302
    return User.objects.get(pk=person.pk)


def test_it_is_off_by_default_and_can_be_switched_on_and_off(ada: User) -> None:
    file = sent_document(ada, "cocoa")
    assert "cocoa" not in results_page(ada, "price").replace("q=price", "") and not DocumentPassage.objects.exists()
    person = with_search_on(ada)
    assert person.finds_documents
    page = results_page(ada, "PRICE fell")
    assert f'href="/documents/{file.pk}/2/#here"' in page and "report.pdf, page 2" in page and "cocoa" in page
    assert "No results" in results_page(ada, "price zebra"), "all words have to be there"
    assert "/documents/" not in signed_in(person).get("/search/", {"q": "price", "before": "5"}).content.decode(), "on the first page alone"
    signed_in(person).post("/settings/", {"effort": "", "language": "en"})
    assert "/documents/" not in results_page(ada, "price")


def test_foreign_binned_temporary_pending_and_deleted_documents_are_not_found(ada: User, bela: User) -> None:
    sent_document(bela, "cocoa")
    binned, temporary, waiting, gone = (sent_document(ada, word, f"{word}.pdf") for word in ("juice", "water", "milk", "beer"))
    Conversation.objects.filter(files=binned).update(deleted_at=timezone.now())
    Conversation.objects.filter(files=temporary).update(temporary_until=timezone.now())
    StoredFile.objects.filter(pk=waiting.pk).update(conversation=None)
    gone.delete()
    with_search_on(bela)
    person = with_search_on(ada)
    assert "cocoa" in results_page(bela, "price") and "/documents/" not in results_page(person, "price")
    shown = sent_document(ada, "tea")
    assert results_page(person, "price").count("/documents/") == 1 and str(shown.pk) in results_page(person, "price")


def test_unindexed_documents_are_indexed_within_the_time_limit(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("tea", "juice", "milk"):
        sent_document(ada, word, f"{word}.pdf")
    times = iter([0.0, 0.5, 1.5, 2.0])
    monkeypatch.setattr("chatui.store.passages.time.monotonic", lambda: next(times))
    query = search_words.query("price")
    assert [passage.name for passage, _ in passages.find_in_own_files(ada.pk, query, 5, 1.0)] == ["milk.pdf"], "the newest first"
    monkeypatch.setattr("chatui.store.passages.time.monotonic", lambda: 0.0)
    assert len(passages.find_in_own_files(ada.pk, query, 5, 1.0)) == 3 and len(passages.find_in_own_files(ada.pk, query, 2, 1.0)) == 2


def test_one_passage_of_each_document_is_shown(ada: User) -> None:
    file = uploaded_with(ada, "long.pdf", *(TextPart(f"page {number}", f"Tea, {number} times.") for number in range(1, 9)), kind="pdf")
    file.conversation = Conversation.objects.create(owner=ada)
    file.save()
    assert results_page(with_search_on(ada), "tea").count("/documents/") == 1


def test_a_document_with_many_matches_does_not_crowd_out_others(ada: User) -> None:
    for name, pages in (("many.pdf", 40), ("one.pdf", 1), ("other.pdf", 30)):
        parts = (TextPart(f"page {number}", f"Tea in {name}, {number} times.") for number in range(1, pages + 1))
        file = uploaded_with(ada, name, *parts, kind="pdf")
        file.conversation = Conversation.objects.create(owner=ada)
        file.save()
    named = {passage.name for passage, _ in passages.find_in_own_files(ada.pk, search_words.query("tea"), 5, 9.0)}
    assert named == {"many.pdf", "one.pdf", "other.pdf"}
