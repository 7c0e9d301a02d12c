"""Starting a turn: its limits, what is stored of the conversation and the question, and which questions can be asked again."""

from copy import copy
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError
from django.db.models import QuerySet
from django.utils import timezone

from chatui.codes import ProductCode
from chatui.models.conversation import Conversation, Folder
from chatui.models.files import SentDocument
from chatui.models.message import Author, Message
from chatui.models.programs import ApiKey, ProgramAnswer
from chatui.models.tools import ToolRule
from chatui.models.turn import Turn
from chatui.models.usage import UsageLimit
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.store import context_use, passages, transcripts
from chatui.turns import sweep
from chatui.turns.asks import Ask, AskKind, AskRefusedError, EarlierMessage, ProgramAsk, QuestionFile
from chatui.turns.running_turn import RunningTurn
from chatui.turns.streams.program import ProgramStream
from chatui.usage import limits
from renderer.frames import Frame, Header
from tests.chatui.accounts.test_api_keys import create_key
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import uploaded
from tests.support import turns
from tests.support.environment import change
from tests.support.messages import add_message, open_branch
from tests.support.people import session_of
from tests.support.several import Configure
from tests.support.several import configure as configure
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db


def answered(person: User, question: Ask) -> RunningTurn:
    """A stored turn with an answer."""
    started = store(person, question)
    answer = Frame(Header("assistant", channel="final"), "Four.")
    leaf = add_message(started.turn.conversation, started.turn.question, answer, Author.MODEL)
    open_branch(started.turn.conversation, person, leaf)
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


def test_e_x_too_large_a_question_of_exactly_the_longest_length_is_stored(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"max_message_chars": 12})
    assert store(ada, ask(text="x" * 12)).turn.question.text.count("x") == 12
    for kind in (AskKind.SEND, AskKind.EDIT):
        assert refusal(ada, ask(kind, "x" * 13)) is ProductCode.TOO_LARGE


@pytest.mark.parametrize("text", ["", " \n\t", "\u2003"])
def test_e_x_empty_only_a_regeneration_has_no_text(text: str, ada: User) -> None:
    started = answered(ada, ask())
    for kind in (AskKind.SEND, AskKind.EDIT):
        assert refusal(ada, in_it(started, kind, text)) is ProductCode.EMPTY
    assert store(ada, in_it(started, AskKind.REGENERATE, text)).turn.question == started.turn.question


@pytest.mark.parametrize("kind", [AskKind.SEND, AskKind.EDIT, AskKind.REGENERATE])
def test_an_unknown_effort_is_refused(kind: AskKind, ada: User) -> None:
    turn = answered(ada, ask()).turn
    refused = ask(kind, "x", effort="huge", conversation=turn.conversation_id, question=turn.question_id)
    assert refusal(ada, refused) is ProductCode.COMMAND
    assert Turn.objects.count() == 1


def test_the_versions_of_a_question_are_given_for_a_new_question_in_an_old_conversation(ada: User) -> None:
    first = answered(ada, ask())
    assert (first.versions, first.has_new_question) == ((), True)
    second = answered(ada, in_it(first))
    assert (second.versions, second.after) == ((second.turn.question_id,), first.turn.question_id)
    edited = answered(ada, in_it(second, AskKind.EDIT, "Or then?"))
    assert edited.versions == (second.turn.question_id, edited.turn.question_id) and edited.after == first.turn.question_id
    again = store(ada, in_it(second, AskKind.REGENERATE, ""))
    assert (again.versions, again.has_new_question, again.after) == ((), False, first.turn.question_id)


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


@pytest.mark.parametrize("kind", [AskKind.EDIT, AskKind.REGENERATE])
def test_only_a_visible_question_of_the_conversation_can_be_asked_again(kind: AskKind, ada: User, bela: User) -> None:
    started, other, foreign = answered(ada, ask()), answered(ada, ask()), answered(bela, ask())
    row, answer = started.turn.conversation, Message.objects.get(parent=started.turn.question)
    headers = (Header("user", "analysis"), Header("user", recipient="functions.lookup"), Header("user", intent="debug"))
    unseen = [add_message(row, None, Frame(header, "not for people"), Author.IMPORT) for header in headers]
    assert not any(message.is_visible for message in unseen), "the premise"
    for wrong in (answer.pk, *(message.pk for message in unseen), other.turn.question_id, foreign.turn.question_id, uuid4(), "nonsense"):
        with pytest.raises(NotFoundError):
            store(ada, in_it(started, kind, "x", question=wrong))
    with pytest.raises(NotFoundError):
        store(ada, in_it(foreign, kind, "x"))
    assert Turn.objects.count() == 3


def test_the_operators_instructions_are_stored_before_the_first_question(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"instructions": "Be brief."})
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


# Starting a turn where something is there already: an answer to continue, a conversation that a program has begun, the same request.


@pytest.fixture(autouse=True)
def _two_models(configure: Configure) -> None:
    configure("".join(f'[[backend]]\nname="{name}"\nurl="http://127.0.0.1:9"\n' for name in ("small", "large")))


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
    open_branch(first.turn.conversation, ada, first.turn.question)
    place = {"conversation": first.turn.conversation_id, "continued_turn": first.turn.pk}
    started = store(ada, ask(AskKind.CONTINUE, "", effort="", choice="small", **place))
    turn = Turn.objects.get(pk=started.turn.pk)
    assert (turn.question, turn.continued_message, turn.effort, turn.choice) == (
        first.turn.question,
        last_message(first),
        "medium",
        "large",
    )
    assert (started.ask.kind, started.continued_turn, started.has_new_question) == (AskKind.CONTINUE, first.turn.pk, False)
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
    started = store(ada, ask(AskKind.CONTINUE, "", effort="high", choice=choice, **place))
    turn, row = Turn.objects.get(pk=started.turn.pk), Conversation.objects.get()
    assert (turn.question, turn.effort, turn.choice) == (first.turn.question, "high", choice or "large")
    assert turn.continued_message == (last_message(first) if has_answer else None)
    assert (started.ask.kind, started.continued_turn) == (AskKind.CONTINUE, before)
    assert (row.effort, row.choice, row.archived_at) == ("high", choice or "large", None)


def test_without_a_choice_the_model_of_the_conversation_answers(ada: User) -> None:
    choices = []
    started = answered(ada, ask(choice="large"))
    for choice in (None, "small", None, "", None):
        turn = answered(ada, in_it(started, choice=choice)).turn
        choices.append((turn.choice, Conversation.objects.get().choice))
    assert choices == [("large",) * 2, *[("small",) * 2] * 4]


def test_an_answer_of_another_model_alone_leaves_the_conversation_with_its_own(ada: User) -> None:
    started = answered(ada, ask(choice="small"))
    trial = answered(ada, in_it(started, AskKind.REGENERATE, "", choice="large", stays_with="small"))
    assert (trial.turn.choice, Conversation.objects.get().choice) == ("large", "small")
    trial = answered(ada, in_it(started, AskKind.REGENERATE, "", choice="small", stays_with="large"))
    assert (trial.turn.choice, Conversation.objects.get().choice) == ("small", "large"), "what the message box shows"
    answered(ada, in_it(started, AskKind.REGENERATE, "", choice="small", stays_with="gone"))
    assert Conversation.objects.get().choice == "large", "nothing that is not offered is remembered"
    assert answered(ada, in_it(started)).turn.choice == "large"


def of_program(*before: EarlierMessage) -> Ask:
    return ask(text="And then?", effort="high", choice="large", program=ProgramAsk(ProgramStream(), before=before))


def test_a_conversation_that_a_program_begins_is_archived_with_its_settings(ada: User) -> None:
    started = store(ada, of_program())
    stored = Conversation.objects.get()
    assert (stored.effort, stored.choice, stored.archived_at is None, stored.has_news) == ("high", "large", False, False)
    assert (started.turn.question.parent_id, started.turn.question.position, started.after, started.versions) == (None, 0, None, ())
    assert started.place_id is None and not started.turn.is_queued


def test_a_turn_has_the_key_that_asks_unless_it_was_deleted_meanwhile(ada: User) -> None:
    kept, deleted = (create_key(ada).id for _ in range(2))
    ApiKey.objects.filter(pk=deleted).delete()
    found = [store(ada, replace(of_program(), key=UUID(key))).turn for key in (kept, deleted)]
    assert [str(turn.key_id or "") for turn in found] == [kept, ""]
    assert [str(row.key_id or "") for row in ProgramAnswer.objects.order_by("turn__started_at")] == [kept, ""]


def test_a_program_with_another_persons_client_id_gets_its_own_turn(ada: User, bela: User) -> None:
    belas = store(bela, ask())
    adas = store(ada, replace(of_program(), client_id=belas.turn.client_id))
    assert adas.is_new and adas.turn.pk != belas.turn.pk
    assert (adas.turn.conversation.owner, adas.turn.asked_by, adas.turn.client_id) == (ada, ada, belas.turn.client_id)


def test_a_question_follows_the_messages_with_which_a_program_has_begun(ada: User) -> None:
    started = store(ada, of_program(EarlierMessage("Why?", is_person=True), EarlierMessage("Because.")))
    first = Message.objects.order_by("position")[0]
    assert (started.turn.question.position, started.after, started.versions) == (2, first.pk, ())
    assert Conversation.objects.get().archived_at is not None


def test_a_repeated_request_of_a_program_stores_nothing(ada: User) -> None:
    request = of_program(EarlierMessage("Why?", is_person=True))
    first, again = store(ada, request), store(ada, request)
    assert (first.is_new, again.is_new, again.turn, again.ask.program) == (True, False, first.turn, request.program)
    assert (Conversation.objects.count(), Message.objects.count()) == (1, 2)


def test_the_first_question_of_an_empty_conversation_is_its_first_message(ada: User, conversation: Conversation) -> None:
    started = store(ada, ask(conversation=conversation.pk))
    assert (started.turn.question.position, started.turn.question.parent_id, started.after) == (0, None, None)
    assert transcripts.active_leaf(conversation, ada) == started.turn.question


def test_a_request_needs_the_session_in_which_its_page_was_opened(ada: User) -> None:
    session = session_of(signed_in(ada))
    assert session is not None and store(ada, ask(session=session)).is_new
    before = copy(session.person)
    before.password = "of an old password"
    for ended in (replace(session, person=before), replace(session, key="of no session")):
        assert refusal(ada, ask(session=ended)) is ProductCode.SIGNED_OUT
    assert Turn.objects.count() == 1


@pytest.mark.parametrize("is_limited", [True, False])
def test_tokens_are_reserved_for_the_question_its_documents_and_what_the_program_sent_before(is_limited: bool, ada: User) -> None:
    if is_limited:
        UsageLimit.objects.create(day_tokens=10_000_000)
    limits.clear_cache()
    with_file = turns.prepared(ada, ask(text="Why?", files=(QuestionFile(uploaded(ada, "one.txt", "word " * 4000).pk),)))
    questions = (ask(text="Why?"), ask(text="Why? " * 400), with_file, of_program(EarlierMessage("word " * 400)))
    found = [store(ada, question).turn.reserved_tokens for question in questions]
    assert turns.document_tokens(with_file) > 1000, "the premise"
    if is_limited:
        [alone, *more] = [each or 0 for each in found]
        least = (400, turns.document_tokens(with_file), 400)
        assert all(least <= each - alone <= 3 * least for each, least in zip(more, least, strict=True)), found
    else:
        assert found == [None] * 4
    assert sorted(each or 0 for each in Turn.objects.values_list("reserved_tokens", flat=True)) == sorted(each or 0 for each in found)


# Preparing the documents of a question: which files it may use, what is refused, and what is left to the start of the turn.


def test_only_ones_own_repeated_request_is_not_prepared_again(ada: User, bela: User) -> None:
    file = uploaded(ada)
    question = ask(files=(QuestionFile(file.pk),))
    store(bela, replace(ask(), client_id=question.client_id))
    store(ada, ask())
    ready = turns.prepared(ada, question)
    assert [each.file for each in ready.documents] == [file], "another person's request with the same id is another request"
    store(ada, ready)
    assert turns.prepared(ada, question) is question


@pytest.mark.parametrize("can_search", [True, False])
def test_a_file_is_searched_only_if_the_model_can_search(can_search: bool, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, searched = uploaded(ada, "one.txt"), uploaded(ada, "two.txt", "Another text.")
    indexed: list[UUID] = []
    monkeypatch.setattr(context_use, "can_search", lambda choice: can_search)
    monkeypatch.setattr(passages, "index", indexed.append)
    question = ask(files=(QuestionFile(whole.pk), QuestionFile(searched.pk, "search")))
    if can_search:
        assert [each.use.use for each in turns.prepared(ada, question).documents] == ["whole", "search"]
        assert indexed == [searched.content_id]
    else:
        with pytest.raises(AskRefusedError) as refused:
            turns.prepared(ada, question)
        assert refused.value.code is ProductCode.TOO_LARGE and indexed == []
    assert len(turns.prepared(ada, ask(files=(QuestionFile(whole.pk),))).documents) == 1


def test_only_an_edit_uses_the_files_of_its_question_again(ada: User, bela: User) -> None:
    file, deleted = uploaded(ada), uploaded(ada, "two.txt", "Another text.")
    first = answered(ada, turns.prepared(ada, ask(files=(QuestionFile(file.pk), QuestionFile(deleted.pk)))))
    SentDocument.objects.filter(file=deleted).update(file=None)
    again = (QuestionFile(file.pk),)
    ready = turns.prepared(ada, in_it(first, AskKind.EDIT, "x", files=again, has_own_files=True))
    assert [each.file for each in ready.documents] == [file]
    for kind, question in ((AskKind.SEND, first.turn.question_id), (AskKind.EDIT, uuid4())):
        with pytest.raises(NotFoundError):
            turns.prepared(ada, in_it(first, kind, "x", files=again, question=question))
    with pytest.raises(NotFoundError):
        turns.prepared(bela, in_it(first, AskKind.EDIT, "x", files=again))


def test_the_tokens_of_all_documents_are_added(ada: User) -> None:
    files = tuple(QuestionFile(uploaded(ada, f"{name}.txt", name).pk) for name in ("one", "two"))
    both = turns.prepared(ada, ask(files=files))
    each = [turns.document_tokens(turns.prepared(ada, ask(files=(use,)))) for use in files]
    assert turns.document_tokens(both) == sum(each) and min(each) > 0
    assert turns.document_tokens(ask()) == 0
