"""Indexing older messages, titles and documents again after an upgrade: whole, in steps, resumable, and only what is visible."""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command

from chatui.display import conversation_actions, search
from chatui.documents.reading import TextPart
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPassage
from chatui.models.message import Author, Message, Reindexing, SearchEntry
from chatui.models.user import User
from chatui.store import passages, reindexing, search_index, search_words
from renderer.frames import Frame, Header
from renderer.gate import VisibleText
from tests.chatui.store.uploads import uploaded_with
from tests.support.messages import add_message

pytestmark = pytest.mark.django_db
NEWEST = 2**63 - 1


def make_old() -> None:
    """The index as an earlier release wrote it: without parts of words."""
    for table in (SearchEntry, DocumentPassage):
        for row in table.objects.all():
            row.terms = " ".join(term for term in row.terms.split() if search_words.INNER not in term)
            row.save()


@pytest.fixture
def talk(conversation: Conversation, ada: User) -> Message:
    conversation_actions.rename(ada, conversation.pk, "Zum Mietvertrag")
    question = add_message(conversation, None, Frame(Header("user"), "정기회의록에서 뽑아 주세요."), Author.PERSON)
    thought = add_message(conversation, question, Frame(Header("assistant", channel="analysis"), "Geheimvertrag"), Author.MODEL)
    return add_message(conversation, thought, Frame(Header("assistant", channel="final"), "Der Arbeitsvertrag."), Author.MODEL)


def counts(person: User) -> list[int]:
    return [len(search.search(person, query).hits) for query in ("vertrag", "회의", "arbeitsvertrag", "mietvertrag")]


def test_old_rows_are_found_by_parts_of_their_words_afterwards(talk: Message, ada: User, bela: User) -> None:
    new = list(SearchEntry.objects.order_by("pk").values_list("pk", "terms"))
    make_old()
    assert counts(ada) == [0, 0, 1, 1], "the premise: an earlier release found whole words"
    assert not reindexing.is_due()
    Reindexing.objects.create(index="messages", below=NEWEST)
    assert reindexing.is_due()
    assert "Indexed 3 " in output()
    assert not reindexing.is_due() and counts(ada) == [2, 1, 1, 1] and counts(bela) == [0, 0, 0, 0]
    assert list(SearchEntry.objects.order_by("pk").values_list("pk", "terms")) == new
    assert not search.search(ada, "geheimvertrag").hits


def output() -> str:
    out = StringIO()
    call_command("reindex", stdout=out)
    return out.getvalue()


def test_what_was_done_before_an_interruption_is_not_done_again(talk: Message, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindexing, "BATCH_ROWS", 1)
    make_old()
    Reindexing.objects.create(index="messages", below=NEWEST)
    real = search_index.terms_of
    asked: list[str] = []

    def fails_at_the_second(row: Conversation, text: VisibleText) -> str:
        asked.append(text)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return real(row, text)

    monkeypatch.setattr(search_index, "terms_of", fails_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        reindexing.run()
    assert reindexing.is_due() and len(search.search(ada, "vertrag").hits) == 1, "the newest is done, and stays so"
    assert reindexing.run() == 2
    assert asked[0] not in asked[1:] and not reindexing.is_due() and counts(ada)[0] == 2


def test_a_long_message_is_a_step_of_its_own(talk: Message, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindexing, "BATCH_CHARS", 1)
    steps: list[int] = []
    terms_of = search_index.terms_of

    def noted(*given: Any) -> str:
        steps.append(Reindexing.objects.get(index="messages").below)
        return terms_of(*given)

    monkeypatch.setattr(search_index, "terms_of", noted)
    Reindexing.objects.create(index="messages", below=NEWEST)
    assert reindexing.run() == len(steps) == len(set(steps)) > 1, "each message is in a step that begins below the one before it"


def test_what_left_the_index_does_not_come_back(talk: Message, ada: User) -> None:
    SearchEntry.objects.filter(message=talk).delete()
    Reindexing.objects.create(index="messages", below=NEWEST)
    assert reindexing.run() == 2
    assert not SearchEntry.objects.filter(message=talk).exists()


def test_documents_are_searched_for_parts_of_words_afterwards(ada: User) -> None:
    file = uploaded_with(ada, "rent.pdf", TextPart("page 1", "Nothing. " * 300), TextPart("page 2", "Die Kündigungsfrist."), kind="pdf")
    passages.index(file.content_id)
    new = list(DocumentPassage.objects.order_by("pk").values_list("pk", "terms"))
    assert len(new) > 2, "the premise: passages of two pages"
    make_old()
    assert list(DocumentPassage.objects.order_by("pk").values_list("pk", "terms")) != new, "the premise: they were of an earlier release"
    Reindexing.objects.create(index="passages", below=NEWEST)
    assert reindexing.run() == len(new)
    assert list(DocumentPassage.objects.order_by("pk").values_list("pk", "terms")) == new


@pytest.mark.parametrize("is_empty", [True, False])
def test_the_migration_asks_for_it_where_there_are_rows(is_empty: bool, conversation: Conversation) -> None:
    if not is_empty:
        add_message(conversation, None, Frame(Header("user"), "Hello"), Author.PERSON)
    import_module("chatui.migrations.0089_reindexing").begin(apps, None)
    assert list(Reindexing.objects.values_list("index", "below")) == ([] if is_empty else [("messages", NEWEST)])
