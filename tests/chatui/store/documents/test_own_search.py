"""A user's own search in documents they sent: only if they switched it on, and only in their own documents."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chatui.documents.reading import Part
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPassage, StoredFile
from chatui.models.user import User
from chatui.store import passages as own_search
from chatui.store import search_index as search_words
from tests.chatui.conftest import signed_in
from tests.chatui.store.documents.uploads import uploaded_with

pytestmark = pytest.mark.django_db


def sent_document(person: User, word: str, name: str = "report.pdf") -> StoredFile:
    """Send a document of two pages in a conversation of theirs that was never searched."""
    file = uploaded_with(person, name, Part("page 1", "An introduction."), Part("page 2", f"The price of {word} fell."), kind="pdf")
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
    assert [each.passage.name for each in own_search.find_in_own_files(ada.pk, query, 5, 1.0)] == ["milk.pdf"], "the newest first"
    monkeypatch.setattr("chatui.store.passages.time.monotonic", lambda: 0.0)
    assert len(own_search.find_in_own_files(ada.pk, query, 5, 1.0)) == 3 and len(own_search.find_in_own_files(ada.pk, query, 2, 1.0)) == 2


def test_one_passage_of_each_document_is_shown(ada: User) -> None:
    file = uploaded_with(ada, "long.pdf", *(Part(f"page {number}", f"Tea, {number} times.") for number in range(1, 9)), kind="pdf")
    file.conversation = Conversation.objects.create(owner=ada)
    file.save()
    assert results_page(with_search_on(ada), "tea").count("/documents/") == 1


def test_a_document_with_many_matches_does_not_crowd_out_others(ada: User) -> None:
    for name, pages in (("many.pdf", 40), ("one.pdf", 1), ("other.pdf", 30)):
        parts = (Part(f"page {number}", f"Tea in {name}, {number} times.") for number in range(1, pages + 1))
        file = uploaded_with(ada, name, *parts, kind="pdf")
        file.conversation = Conversation.objects.create(owner=ada)
        file.save()
    named = {each.passage.name for each in own_search.find_in_own_files(ada.pk, search_words.query("tea"), 5, 9.0)}
    assert named == {"many.pdf", "one.pdf", "other.pdf"}
