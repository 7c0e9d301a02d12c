"""Compiled statements do the same as the ORM's, with the values of each call, and are compiled only once."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.core.exceptions import SynchronousOnlyOperation
from django.db import Error, OperationalError, connections, transaction
from django.db.models import BigIntegerField, CharField, F, Func, IntegerField, QuerySet, UUIDField, Value
from django.db.models.functions import Cast
from django.db.models.sql.compiler import SQLCompiler

from chatui.accounts import sessions
from chatui.database.compiled_statements import CompiledQuery, Parameter
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access
from chatui.turns.asks import Ask, AskKind, AskRefusedError
from tests.chatui.conftest import signed_in, store

SIGNALS = import_module("django.db.models.signals")

pytestmark = pytest.mark.django_db(transaction=True)


def _titled() -> QuerySet[Conversation]:
    rows = Conversation.objects.filter(owner=Parameter("owner", UUIDField()), title=Parameter("title", CharField()))
    return rows.annotate(seven=Value(7, IntegerField()), same=F("title")).order_by("pk").defer("document_header")


def test_a_compiled_query_reads_the_same_as_the_orm(ada: User, bela: User) -> None:
    adas = [Conversation.objects.create(owner=ada, title="Sums", sampled_with={"effort": "low"}) for _ in range(2)]
    Conversation.objects.create(owner=ada, title="Other")
    belas = Conversation.objects.create(owner=bela, title="Sums")
    query = CompiledQuery(_titled)
    for owner, expected in ((ada, adas), (bela, [belas]), (ada, adas)):
        found = query.models(owner=owner.pk, title="Sums")
        assert found == expected
        assert all(vars(row)["seven"] == 7 and vars(row)["same"] == "Sums" for row in found)
        assert [row.sampled_with for row in found] == [row.sampled_with for row in expected]
        assert all(row.get_deferred_fields() == {"document_header"} and not row._state.adding for row in found)
    assert query.models(owner=uuid4(), title="Sums") == []


def test_a_value_is_never_part_of_the_statement(ada: User) -> None:
    Conversation.objects.create(owner=ada, title="Sums")
    hostile = "' OR ''='"
    assert CompiledQuery(_titled).models(owner=ada.pk, title=hostile) == []
    stored = Conversation.objects.create(owner=ada, title=hostile)
    assert CompiledQuery(_titled).models(owner=ada.pk, title=hostile) == [stored]


def test_a_missing_value_is_an_error_and_not_replaced_by_that_of_an_earlier_call(ada: User) -> None:
    query = CompiledQuery(_titled)
    query.models(owner=ada.pk, title="Sums")
    with pytest.raises(KeyError):
        query.models(owner=ada.pk)


def test_a_statement_is_compiled_once_per_connection(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    worded, as_sql = [], SQLCompiler.as_sql

    def counted(compiler: SQLCompiler, *arguments: object, **named: object) -> object:
        worded.append(compiler)
        return as_sql(compiler, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(SQLCompiler, "as_sql", counted)
    query = CompiledQuery(_titled)

    def read() -> int:
        try:
            return len([query.models(owner=ada.pk, title="Sums") for _ in range(3)])
        finally:
            connections["default"].close()

    assert read() == 3 and len(worded) == 1
    with ThreadPoolExecutor(1) as other:
        assert other.submit(read).result() == 3
    assert len(worded) == 2
    assert worded[0].connection is not worded[1].connection


def test_it_is_not_executed_in_an_event_loop_nor_in_a_broken_transaction_nor_after_a_deadline(ada: User) -> None:
    query = CompiledQuery(_titled)

    async def read() -> object:
        return query.models(owner=ada.pk, title="Sums")

    with pytest.raises(SynchronousOnlyOperation):
        asyncio.run(read())
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            query.models(owner=ada.pk, title="Sums")
        transaction.set_rollback(False)

    def late(*_: object) -> None:
        raise OperationalError("the deadline has passed")

    with connections["default"].execute_wrapper(late), pytest.raises(OperationalError, match="deadline"):
        query.models(owner=ada.pk, title="Sums")


def test_a_percent_sign_is_kept(ada: User) -> None:
    Conversation.objects.create(owner=ada, title="100%s")
    query = CompiledQuery(lambda: Conversation.objects.filter(owner=Parameter("owner", UUIDField())).extra(where=["title LIKE '100%%s'"]))
    assert [found.title for found in query.models(owner=ada.pk)] == ["100%s"]


def test_a_failure_at_a_later_row_is_one_of_djangos_own_too(ada: User) -> None:
    for title in ("1", "-9223372036854775808", "1"):
        Conversation.objects.create(owner=ada, title=title)
    size = Func(Cast("title", BigIntegerField()), function="abs")  # of the second, it is not a number of 64 bits
    own = Conversation.objects.filter(owner=Parameter("owner", UUIDField()))
    with pytest.raises(Error):
        CompiledQuery(lambda: own.annotate(size=size)).models(owner=ada.pk)


@pytest.mark.parametrize("lost", ["session", "account", "password", "conversation"])
def test_a_revoked_permission_takes_effect_at_the_next_question_without_compiling_again(ada: User, bela: User, lost: str) -> None:
    client = signed_in(ada)
    session = sessions.signed_in({settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value})

    def ask(conversation: UUID | None) -> Turn:
        started = store(ada, Ask(AskKind.SEND, uuid4(), "low", conversation=conversation, text="What is 2 + 2?", session=session))
        Turn.objects.update(state=TurnState.COMPLETED)
        return started.turn

    key = ask(None).conversation_id
    assert ask(key).conversation_id == key, "the premise: they may, and every statement is worded by now"
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
        ask(key)
    assert Turn.objects.count() == 2
