"""Starting a turn: its limits, what is stored of the conversation and the question, and which questions can be asked again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError
from django.db.models import QuerySet
from django.utils import timezone

from chatui.codes import ProductCode
from chatui.models.conversation import Conversation, Folder
from chatui.models.message import Author, Message
from chatui.models.tools import ToolRule
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.store import transcripts
from chatui.turns import start, sweep
from chatui.turns.asks import Ask, AskKind, AskRefusedError, QuestionFile
from chatui.turns.running_turn import RunningTurn
from renderer.frames import Frame, Header
from tests.chatui.conftest import store
from tests.chatui.store.uploads import uploaded
from tests.chatui.turns.test_turns import ask
from tests.support.environment import change

pytestmark = pytest.mark.django_db


def answered(person: User, question: Ask) -> RunningTurn:
    """A stored turn with an answer."""
    started = store(person, question)
    answer = Frame(Header("assistant", channel="final"), "Four.")
    leaf = transcripts.append(started.turn.conversation, started.turn.question, answer, Author.MODEL)
    transcripts.activate(started.turn.conversation, person, leaf)
    Turn.objects.filter(pk=started.turn.pk).update(state="completed")
    return started


def in_it(started: RunningTurn, kind: AskKind = AskKind.SEND, text: str = "And then?", **fields: Any) -> Ask:
    """A further request in the conversation: a new question, or one about the question of ``started``."""
    question = None if kind is AskKind.SEND else started.turn.question_id
    return ask(kind, text, **{"conversation": started.turn.conversation_id, "question": question} | fields)


def refusal(person: User, question: Ask) -> object:
    """The code with which a request is refused."""
    with pytest.raises(AskRefusedError) as refused:
        store(person, question)
    return refused.value.code


def test_a_question_of_exactly_the_longest_length_is_stored(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"max_message_chars": 12})
    assert store(ada, ask(text="x" * 12)).turn.question.text.count("x") == 12
    for kind in (AskKind.SEND, AskKind.EDIT):
        assert refusal(ada, ask(kind, "x" * 13)) is ProductCode.TOO_LARGE


@pytest.mark.parametrize("text", ["", " \n\t", "\u2003"])
def test_only_a_regeneration_has_no_text(text: str, ada: User) -> None:
    started = answered(ada, ask())
    for kind in (AskKind.SEND, AskKind.EDIT):
        assert refusal(ada, in_it(started, kind, text)) is ProductCode.EMPTY
    assert store(ada, in_it(started, AskKind.REGENERATE, text)).turn.question == started.turn.question


@pytest.mark.parametrize("kind", [AskKind.SEND, AskKind.EDIT, AskKind.REGENERATE])
def test_an_unknown_effort_is_refused(kind: AskKind, ada: User) -> None:
    started = answered(ada, ask())
    assert refusal(ada, Ask(kind, uuid4(), "huge", started.turn.conversation_id, started.turn.question_id, text="x")) is ProductCode.COMMAND
    assert Turn.objects.count() == 1


def test_as_many_answers_are_written_at_once_as_the_limit_says(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"max_running_answers": 1})
    first = store(ada, ask())
    assert refusal(ada, ask()) is ProductCode.TOO_MANY
    assert store(bela, ask()).is_new, "those of others do not count"
    Turn.objects.filter(pk=first.turn.pk).update(state="completed")
    assert store(ada, ask()).is_new


def test_the_versions_of_a_question_are_given_for_a_new_question_in_an_old_conversation(ada: User) -> None:
    first = answered(ada, ask())
    assert (first.versions, first.has_new_question) == ((), True)
    second = answered(ada, in_it(first))
    assert (second.versions, second.after) == ((second.turn.question_id,), first.turn.question_id)
    edited = answered(ada, in_it(second, AskKind.EDIT, "Or then?"))
    assert edited.versions == (second.turn.question_id, edited.turn.question_id) and edited.after == first.turn.question_id
    again = store(ada, in_it(second, AskKind.REGENERATE, ""))
    assert (again.versions, again.has_new_question, again.after) == ((), False, first.turn.question_id)


def test_the_documents_of_a_question_are_given_with_it(ada: User) -> None:
    file = uploaded(ada)
    first = answered(ada, start.prepared(ada, ask(files=(QuestionFile(file.pk),))))
    assert [each.file_id for each in first.documents] == [file.pk]
    assert answered(ada, in_it(first)).documents == ()
    edited = store(ada, in_it(first, AskKind.EDIT, "Another wording"))
    assert [each.file_id for each in edited.documents] == [file.pk], "the new version has those of the old one"


def test_a_question_moves_its_conversation_to_the_top_and_marks_it_as_read(ada: User) -> None:
    started = answered(ada, ask())
    before = timezone.now() - timedelta(days=1)
    for kind in (AskKind.SEND, AskKind.EDIT, AskKind.REGENERATE):
        Conversation.objects.update(active_at=before, archived_at=before, has_news=True, effort="high", choice="")
        Turn.objects.update(state="completed")
        store(ada, in_it(started, kind, "" if kind is AskKind.REGENERATE else "x"))
        row = Conversation.objects.get()
        assert row.active_at > before and (row.archived_at, row.has_news, row.effort) == (None, False, "medium")


def test_a_new_conversation_has_the_settings_of_its_first_question(ada: User) -> None:
    folder = Folder.objects.create(owner=ada, name="Work")
    row = store(ada, ask(folder=folder.pk, tools_off=frozenset({"b", "a"}), text="# Why?\nTell me.")).turn.conversation
    row.refresh_from_db()
    assert (row.owner, row.title, row.effort, row.folder, row.temporary_until, row.answer_format) == (
        ada,
        "Why?",
        "medium",
        folder,
        None,
        None,
    )
    assert list(ToolRule.objects.values_list("conversation", "tool", "is_allowed")) == [(row.pk, "a", False), (row.pk, "b", False)]


def test_a_temporary_conversation_has_no_title_and_is_in_no_folder(ada: User) -> None:
    folder = Folder.objects.create(owner=ada, name="Work")
    row = store(ada, ask(folder=folder.pk, temporary=True)).turn.conversation
    row.refresh_from_db()
    assert (row.title, row.folder) == ("", None)
    assert row.temporary_until is not None and timedelta(minutes=59) < row.temporary_until - timezone.now() <= timedelta(hours=1)


def test_a_question_extends_the_life_of_a_temporary_conversation(ada: User) -> None:
    started = answered(ada, ask(temporary=True))
    soon = timezone.now() + timedelta(minutes=1)
    Conversation.objects.update(temporary_until=soon)
    store(ada, in_it(started))
    until = Conversation.objects.get().temporary_until
    assert until is not None and until > soon + timedelta(minutes=50)


def test_a_conversation_whose_first_question_has_no_words_has_a_title_all_the_same(ada: User) -> None:
    assert store(ada, ask(text="***")).turn.conversation.title == "New conversation"


def test_nobody_starts_a_conversation_in_somebody_elses_folder(ada: User, bela: User) -> None:
    with pytest.raises(NotFoundError):
        store(ada, ask(folder=Folder.objects.create(owner=bela, name="Work").pk))
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("kind", [AskKind.EDIT, AskKind.REGENERATE])
def test_only_a_visible_question_of_the_conversation_can_be_asked_again(kind: AskKind, ada: User, bela: User) -> None:
    started, other, foreign = answered(ada, ask()), answered(ada, ask()), answered(bela, ask())
    row, hidden = started.turn.conversation, Frame(Header("user", "analysis"), "not for people")
    answer, unseen = Message.objects.get(parent=started.turn.question), transcripts.append(row, None, hidden, Author.IMPORT)
    for wrong in (answer.pk, unseen.pk, other.turn.question_id, foreign.turn.question_id, uuid4(), "nonsense"):
        with pytest.raises(NotFoundError):
            store(ada, in_it(started, kind, "x", question=wrong))
    with pytest.raises(NotFoundError):
        store(ada, in_it(foreign, kind, "x"))
    assert Turn.objects.count() == 3


def test_the_place_of_a_new_question_is_after_all_others(ada: User) -> None:
    first = answered(ada, ask())
    second = answered(ada, in_it(first))
    edited = store(ada, in_it(first, AskKind.EDIT, "Or then?"))
    positions = list(Message.objects.order_by("position").values_list("position", flat=True))
    assert positions == [0, 1, 2, 3, 4]
    assert (first.turn.question.position, second.turn.question.position, edited.turn.question.position) == (0, 2, 4)


def test_the_operators_instructions_are_stored_before_the_first_question(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "instructions_for", lambda groups: "Be brief.")
    first = answered(ada, ask())
    answered(ada, in_it(first))
    stored = list(Message.objects.order_by("position").values_list("position", "role", "parent__position"))
    assert stored == [(0, "developer", None), (1, "user", 0), (2, "assistant", 1), (3, "user", 2), (4, "assistant", 3)]
    assert (first.after, first.versions) == (None, ())


def test_a_turn_whose_process_died_is_closed_before_the_next_question(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    first = store(ada, ask())
    with pytest.raises(IntegrityError):
        store(ada, in_it(first))
    Turn.objects.update(lease_until=timezone.now() - timedelta(hours=1))
    monkeypatch.setattr(sweep, "interrupt_abandoned", lambda conversation: [])
    with pytest.raises(IntegrityError):
        store(ada, in_it(first))
    monkeypatch.setattr(sweep, "interrupt_abandoned", lambda conversation: list(closed(conversation)))
    assert store(ada, in_it(first)).after == first.turn.question_id


def closed(conversation: Conversation) -> QuerySet[Turn]:
    """Close the turns of a conversation."""
    conversation.turns.update(state="interrupted")
    return conversation.turns.all()


def test_nobody_asks_with_an_account_that_was_deleted(ada: User) -> None:
    User.objects.filter(pk=ada.pk).delete()
    assert refusal(ada, ask()) is ProductCode.SIGNED_OUT
