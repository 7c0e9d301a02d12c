"""Starting a turn where something is there already: an answer to continue, a conversation that a program has begun, the same request."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from chatui.accounts import sessions
from chatui.codes import ProductCode
from chatui.json_schemas import AnswerFormat
from chatui.model_servers import choice as model_choice
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.store import transcripts
from chatui.turns import leases, start
from chatui.turns.asks import Ask, AskKind
from chatui.turns.running_turn import RunningTurn
from chatui.turns.start import NewConversation
from chatui.usage.limits import LimitLine
from chatui.usage.reserving import Reserved
from tests.chatui.conftest import signed_in, store
from tests.chatui.turns.test_start import answered, in_it, refusal
from tests.chatui.turns.test_turns import ask

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _any_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_choice, "validated", lambda person, choice: choice)


def cut(person: User, state: str = "stopped", **question: Any) -> RunningTurn:
    """A turn whose answer was cut off in the middle."""
    started = answered(person, ask(**question))
    Turn.objects.filter(pk=started.turn.pk).update(state=state)
    Message.objects.filter(parent=started.turn.question_id).update(turn=started.turn, is_complete=False)
    return started


def continuing(started: RunningTurn, **fields: Any) -> Ask:
    return in_it(started, AskKind.CONTINUE, "", **{"question": None, "continued_turn": started.turn.pk} | fields)


def last_message(started: RunningTurn) -> Message:
    return Message.objects.filter(conversation=started.turn.conversation_id).latest("position")


def test_a_cut_answer_is_continued_with_the_settings_of_its_turn(ada: User) -> None:
    first = cut(ada, choice="large")
    before = timezone.now() - timedelta(days=1)
    Conversation.objects.update(active_at=before, archived_at=before, has_news=True)
    transcripts.activate(first.turn.conversation, ada, first.turn.question)
    started = store(ada, Ask(AskKind.CONTINUE, uuid4(), "", first.turn.conversation_id, continued_turn=first.turn.pk, choice="small"))
    turn = Turn.objects.get(pk=started.turn.pk)
    assert (turn.question, turn.continued_message, turn.effort, turn.choice) == (
        first.turn.question,
        last_message(first),
        "medium",
        "large",
    )
    assert (started.kind, started.continued_turn, started.has_new_question) == (AskKind.CONTINUE, first.turn.pk, False)
    row = Conversation.objects.get()
    assert transcripts.active_leaf(row, ada) == last_message(first)
    assert row.active_at > before and (row.archived_at, row.has_news, row.choice) == (None, False, "large")


@pytest.mark.parametrize(
    ("state", "code"), [("running", ProductCode.BUSY), ("completed", ProductCode.COMMAND), ("failed", None), ("incomplete", None)]
)
def test_only_an_answer_that_ended_too_early_is_continued(state: str, code: ProductCode | None, ada: User) -> None:
    started = cut(ada, state)
    if code is None:
        assert store(ada, continuing(started)).is_new
    else:
        assert refusal(ada, continuing(started)) is code


def test_a_turn_without_any_answer_cannot_be_continued(ada: User) -> None:
    started = store(ada, ask())
    Turn.objects.update(state="failed")
    assert refusal(ada, continuing(started)) is ProductCode.COMMAND


def test_nobody_continues_an_answer_of_another_conversation(ada: User, bela: User) -> None:
    own, other, foreign = cut(ada), cut(ada), cut(bela)
    for wrong in (other, foreign):
        with pytest.raises(NotFoundError):
            store(ada, continuing(own, continued_turn=wrong.turn.pk))
    with pytest.raises(NotFoundError):
        store(ada, continuing(foreign))


@pytest.mark.parametrize("has_answer", [True, False])
@pytest.mark.parametrize("choice", ["small", "", None])
def test_an_exchange_continues_after_its_last_message_with_the_settings_of_the_request(
    choice: str | None, has_answer: bool, ada: User
) -> None:
    first = cut(ada, choice="large")
    Conversation.objects.update(archived_at=timezone.now())
    before = first.turn.pk if has_answer else None
    place: dict[str, Any] = {"conversation": first.turn.conversation_id, "question": first.turn.question_id, "continued_turn": before}
    started = store(ada, Ask(AskKind.CONTINUE, uuid4(), "high", choice=choice, **place))
    turn, row = Turn.objects.get(pk=started.turn.pk), Conversation.objects.get()
    assert (turn.question, turn.effort, turn.choice) == (first.turn.question, "high", choice or "")
    assert turn.continued_message == (last_message(first) if has_answer else None)
    assert (started.kind, started.continued_turn) == (AskKind.CONTINUE, before)
    assert (row.effort, row.choice, row.archived_at) == ("high", choice or "", None)


def test_without_a_choice_the_model_of_the_conversation_answers(ada: User) -> None:
    choices = []
    started = answered(ada, ask(choice="large"))
    for choice in (None, "small", None, "", None):
        turn = answered(ada, in_it(started, choice=choice)).turn
        choices.append((turn.choice, Conversation.objects.get().choice))
    assert choices == [("large",) * 2, ("small",) * 2, ("small",) * 2, ("",) * 2, ("",) * 2]


def test_a_conversation_that_a_program_has_just_begun_stays_as_it_is(ada: User) -> None:
    now = timezone.now()
    row = Conversation.objects.create(owner=ada, effort="high", choice="large", archived_at=now, has_news=True)
    with transaction.atomic():
        started = start.start(ada, ask(conversation=row.pk, choice="large"), leases.OWNER, NewConversation(row, is_empty=True))
    stored = Conversation.objects.get()
    assert (stored.effort, stored.choice, stored.archived_at, stored.has_news) == ("high", "large", now, True)
    assert (started.turn.question.parent_id, started.turn.question.position, started.after, started.versions) == (None, 0, None, ())


def test_a_question_follows_the_messages_with_which_a_program_has_begun(ada: User) -> None:
    first = answered(ada, ask())
    row = Conversation.objects.get()
    with transaction.atomic():
        started = start.start(ada, in_it(first), leases.OWNER, NewConversation(row, is_empty=False))
    assert (started.turn.question.position, started.after, started.versions) == (2, first.turn.question_id, ())


def test_the_first_question_of_an_empty_conversation_is_its_first_message(ada: User, conversation: Conversation) -> None:
    started = store(ada, ask(conversation=conversation.pk))
    assert (started.turn.question.position, started.turn.question.parent_id, started.after) == (0, None, None)
    assert transcripts.active_leaf(conversation, ada) == started.turn.question


def test_the_same_request_is_the_same_turn_of_its_kind(ada: User) -> None:
    question = ask()
    first, again = store(ada, question), store(ada, question)
    assert (again.turn, again.is_new, again.has_new_question, again.kind) == (first.turn, False, False, AskKind.SEND)
    with pytest.raises(IntegrityError):
        store(ada, in_it(first))
    Turn.objects.update(state="stopped")
    Message.objects.create(
        conversation=first.turn.conversation, parent=first.turn.question, position=1, role="assistant", turn=first.turn, is_visible=True
    )
    kinds = []
    for kind in (None, AskKind.REGENERATE):
        found = start.started_again(Turn.objects.get(), kind)
        kinds.append((found.kind, found.continued_turn, found.is_new))
    assert kinds == [(AskKind.SEND, None, False), (AskKind.REGENERATE, None, False)]


def test_a_continuation_that_is_found_again_says_which_turn_it_continues(ada: User) -> None:
    first = cut(ada)
    store(ada, continuing(first))
    found = start.started_again(Turn.objects.exclude(pk=first.turn.pk).get())
    assert (found.kind, found.continued_turn, found.is_new) == (AskKind.CONTINUE, first.turn.pk, False)


def test_a_request_needs_the_session_in_which_its_page_was_opened(ada: User) -> None:
    session = sessions.signed_in({settings.SESSION_COOKIE_NAME: signed_in(ada).cookies[settings.SESSION_COOKIE_NAME].value})
    assert session is not None and store(ada, ask(session=session)).is_new
    for ended in (replace(session, password_hash="of an old password"), replace(session, key="of no session")):
        assert refusal(ada, ask(session=ended)) is ProductCode.SIGNED_OUT
    assert Turn.objects.count() == 1


def test_a_required_format_is_stored_with_a_new_conversation(ada: User) -> None:
    wanted = AnswerFormat("sum", {"type": "object"})
    store(ada, ask(answer_format=wanted))
    assert Conversation.objects.get().answer_format == wanted.stored()


@pytest.mark.parametrize("is_limited", [True, False])
def test_tokens_are_reserved_for_the_question_and_what_the_program_sent_before(
    is_limited: bool, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = object.__new__(LimitLine)
    asked: list[tuple[object, ...]] = []

    def reserve(*arguments: object) -> Reserved | None:
        asked.append(arguments)
        return Reserved(77, near) if is_limited else None

    monkeypatch.setattr(start, "reserved_for", reserve)
    monkeypatch.setattr(start, "tokens_of", lambda question: 100)
    started = store(ada, ask(tokens_before=5, text="Why?"))
    assert asked == [(ada, None, "Why?", 105)]
    assert (Turn.objects.get().reserved_tokens, started.near) == ((77, near) if is_limited else (None, None))
