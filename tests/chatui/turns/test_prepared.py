"""Preparing the documents of a question: which files it may use, what is refused, and what is left to the start of the turn."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from chatui.codes import ProductCode
from chatui.models.files import SentDocument
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.store import context_use, passages
from chatui.turns import start
from chatui.turns.asks import AskKind, AskRefusedError, QuestionFile
from tests.chatui.conftest import store
from tests.chatui.store.uploads import uploaded
from tests.chatui.turns.test_start import answered, in_it
from tests.chatui.turns.test_turns import ask

pytestmark = pytest.mark.django_db


def test_only_ones_own_repeated_request_is_not_prepared_again(ada: User, bela: User) -> None:
    file = uploaded(ada)
    question = ask(files=(QuestionFile(file.pk),))
    store(bela, replace(ask(), client_id=question.client_id))
    store(ada, ask())
    ready = start.prepared(ada, question)
    assert [each.file for each in ready.documents] == [file], "another person's request with the same id is another request"
    store(ada, ready)
    assert start.prepared(ada, question) is question


@pytest.mark.parametrize("can_search", [True, False])
def test_a_file_is_searched_only_if_the_model_can_search(can_search: bool, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, searched = uploaded(ada, "one.txt"), uploaded(ada, "two.txt", "Another text.")
    indexed: list[UUID] = []
    monkeypatch.setattr(context_use, "can_search", lambda choice: can_search)
    monkeypatch.setattr(passages, "index", indexed.append)
    question = ask(files=(QuestionFile(whole.pk), QuestionFile(searched.pk, "search")))
    if can_search:
        assert [each.use.use for each in start.prepared(ada, question).documents] == ["whole", "search"]
        assert indexed == [searched.content_id]
    else:
        with pytest.raises(AskRefusedError) as refused:
            start.prepared(ada, question)
        assert refused.value.code is ProductCode.TOO_LARGE and indexed == []
    assert len(start.prepared(ada, ask(files=(QuestionFile(whole.pk),))).documents) == 1


def test_only_an_edit_uses_the_files_of_its_question_again(ada: User, bela: User) -> None:
    file, deleted = uploaded(ada), uploaded(ada, "two.txt", "Another text.")
    first = answered(ada, start.prepared(ada, ask(files=(QuestionFile(file.pk), QuestionFile(deleted.pk)))))
    SentDocument.objects.filter(file=deleted).update(file=None)
    again = (QuestionFile(file.pk),)
    ready = start.prepared(ada, in_it(first, AskKind.EDIT, "x", files=again, has_own_files=True))
    assert [each.file for each in ready.documents] == [file]
    for kind, question in ((AskKind.SEND, first.turn.question_id), (AskKind.EDIT, uuid4())):
        with pytest.raises(NotFoundError):
            start.prepared(ada, in_it(first, kind, "x", files=again, question=question))
    with pytest.raises(NotFoundError):
        start.prepared(bela, in_it(first, AskKind.EDIT, "x", files=again))


def test_a_file_that_was_sent_or_deleted_meanwhile_is_not_found(ada: User) -> None:
    file = uploaded(ada)
    ready = [start.prepared(ada, ask(files=(QuestionFile(file.pk),))) for _ in range(2)]
    store(ada, ready[0])
    with pytest.raises(NotFoundError):
        store(ada, ready[1])
    assert Turn.objects.count() == 1


def test_the_tokens_of_all_documents_are_added(ada: User) -> None:
    files = tuple(QuestionFile(uploaded(ada, f"{name}.txt", name).pk) for name in ("one", "two"))
    both = start.prepared(ada, ask(files=files))
    each = [start.tokens_of(start.prepared(ada, ask(files=(use,)))) for use in files]
    assert start.tokens_of(both) == sum(each) and min(each) > 0
    assert start.tokens_of(ask()) == 0
