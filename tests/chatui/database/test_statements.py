"""Plain statements write and read the same as the ORM, and rows are the same as those of Django's constructor."""

import asyncio
from uuid import UUID

import pytest
from django.core.exceptions import SynchronousOnlyOperation
from django.db import IntegrityError, connection, connections, transaction

from chatui.database.statements import MAX_ROWS, insert, locking, new, read, update
from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import transcripts
from chatui.turns.asks import AskRefusedError
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.support import written_rows
from tests.support.messages import add_messages, open_branch
from tests.support.people import session_of
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db(transaction=True)


def questions(conversation: Conversation, count: int) -> list[Message]:
    frames = [(Frame(Header("user"), f"Question {number}?"), Author.PERSON) for number in range(count)]
    with transaction.atomic():
        add_messages(conversation, None, frames)
    return list(Message.objects.filter(conversation=conversation).order_by("position"))


def test_what_is_written_is_read_unchanged_and_as_the_orm_reads_it(ada: User) -> None:
    assert written_rows.differences(ada) == []


def test_a_new_row_is_that_of_the_constructor(ada: User) -> None:
    for row in written_rows.rows(ada):
        # What is made anew for each row is taken from this one.
        made = {each.attname: getattr(row, each.attname) for each in row._meta.concrete_fields}
        constructed = type(row)(**made)
        assert {**vars(constructed), "_state": None} == {**vars(row), "_state": None} and row._state.adding
    first, second = new(Conversation, owner=ada), new(Conversation, owner=ada)
    assert first.pk != second.pk and first.owner is ada and first.created_at <= second.created_at


@pytest.mark.parametrize("count", [1, 2, MAX_ROWS, MAX_ROWS + 1, 3 * MAX_ROWS + 2])
def test_rows_are_inserted_unchanged(conversation: Conversation, count: int) -> None:
    found = questions(conversation, count)
    assert [transcripts.frame_of(row).body for row in found] == [f"Question {number}?" for number in range(count)]
    assert [row.parent_id for row in found] == [None, *(row.pk for row in found[:-1])]
    assert all(row.created_at and row.raw is None and row.turn_id is None for row in found)


def test_an_existing_row_is_updated_instead(ada: User, conversation: Conversation) -> None:
    first, second = questions(conversation, 2)
    for leaf in (first, second):
        open_branch(conversation, ada, leaf)
    assert list(ActiveLeaf.objects.values_list("message", flat=True)) == [second.pk]


def test_a_value_is_never_part_of_the_statement(ada: User) -> None:
    hostile = "' OR ''='%s"
    row = new(Conversation, owner=ada, title=hostile)
    insert([row])
    assert update("chatui_conversation", {"title": hostile * 2}, "title = %s", hostile) == 1
    assert update("chatui_conversation", {"title": ""}, "title = %s", hostile) == 0
    assert Conversation.objects.get().title == hostile * 2


def test_values_of_expressions_come_with_their_row(ada: User, bela: User) -> None:
    hostile = "' OR ''='100%s"
    rows = read(User, "username = %s" + locking("chatui_user"), hostile, ada.username, also=("CAST(%s AS varchar(20))", "'100%%'", "1 + 1"))
    assert rows == [(ada, (hostile, "100%", 2))]
    assert read(User, "username = %s", hostile) == []


def test_a_transaction_opens_one_cursor_and_outlives_no_connection(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    database, cursor = connections["default"], connection.cursor

    def counted() -> object:
        opened.append("one")
        return cursor()

    monkeypatch.setattr(database, "cursor", counted)
    for _ in range(2):
        with transaction.atomic():
            opened.clear()
            insert([new(Conversation, owner=ada, title="Sums")])
            assert update("chatui_conversation", {"title": "More"}, "title = %s", "Sums") == 1
            assert opened == ["one"]
        connection.close()
    assert len(read(Conversation, "title = %s", "More")) == 2


def test_a_failure_is_one_of_djangos_own_and_no_event_loop_writes(ada: User) -> None:
    row = new(Conversation, owner=ada, title="Sums")
    insert([row])
    with pytest.raises(IntegrityError):
        insert([row])

    async def write() -> None:
        insert([new(Conversation, owner=ada)])

    async def look() -> object:
        return read(Conversation, "title = %s", "Sums")

    for work in (write, look):
        with pytest.raises(SynchronousOnlyOperation):
            asyncio.run(work())
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            read(Conversation, "title = %s", "Sums")
        transaction.set_rollback(False)
    assert Conversation.objects.count() == 1


@pytest.mark.parametrize("lost", ["session", "account", "password", "conversation"])
def test_a_revoked_permission_takes_effect_at_the_next_question(ada: User, bela: User, lost: str) -> None:
    client = signed_in(ada)
    session = session_of(client)

    def asked(conversation: UUID | None) -> Turn:
        started = store(ada, ask(effort="low", conversation=conversation, session=session))
        Turn.objects.update(state=TurnState.COMPLETED)
        return started.turn

    key = asked(None).conversation_id
    assert asked(key).conversation_id == key, "the premise: they may"
    match lost:
        case "session":
            client.logout()
        case "account":
            User.objects.filter(pk=ada.pk).update(is_active=False)
        case "password":
            User.objects.filter(pk=ada.pk).update(password="!another")
        case "conversation":
            Conversation.objects.update(owner=bela)
    with pytest.raises(access.NotFoundError if lost == "conversation" else AskRefusedError):
        asked(key)
    assert Turn.objects.count() == 2
