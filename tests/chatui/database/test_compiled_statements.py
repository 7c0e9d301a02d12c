"""Compiled statements do the same as the ORM's, with the values of each call, and are compiled only once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.conf import settings
from django.core.exceptions import SynchronousOnlyOperation
from django.db import Error, IntegrityError, OperationalError, connections, transaction
from django.db.models import BigIntegerField, CharField, DateTimeField, F, Func, IntegerField, Model, QuerySet, UUIDField, Value
from django.db.models.functions import Cast
from django.db.models.sql.compiler import SQLCompiler
from django.test.utils import isolate_apps
from django.utils import timezone

from chatui.accounts import sessions
from chatui.database.compiled_statements import (
    MAX_ROWS,
    CompiledDelete,
    CompiledInsert,
    CompiledQuery,
    CompiledUpdate,
    Parameter,
    _Slot,
    new_model,
    stored_model,
)
from chatui.models.conversation import ActiveLeaf, Conversation, Effort
from chatui.models.message import Author, Message, SearchEntry
from chatui.models.turn import Turn, TurnPiece, TurnState
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import transcripts
from chatui.turns.asks import Ask, AskKind, AskRefusedError
from renderer.frames import Frame, Header, Role
from tests.chatui.conftest import signed_in, store

SIGNALS = import_module("django.db.models.signals")

pytestmark = pytest.mark.django_db(transaction=True)


def _titled() -> QuerySet[Conversation]:
    rows = Conversation.objects.filter(owner=Parameter("owner", UUIDField()), title=Parameter("title", CharField()))
    return rows.annotate(seven=Value(7, IntegerField()), same=F("title")).order_by("pk").defer("document_header")


def questions(conversation: Conversation, count: int) -> list[Message]:
    frames = [(Frame(Header("user"), f"Question {number}?"), Author.PERSON, transcripts.FrameMetadata()) for number in range(count)]
    with transaction.atomic():
        transcripts.append_chain(conversation, None, frames)
    return list(Message.objects.filter(conversation=conversation).order_by("position"))


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
    pairs = CompiledQuery(lambda: _titled().values_list("pk", "has_news"))
    assert pairs.tuples(owner=ada.pk, title="Sums") == [(row.pk, False) for row in adas]


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


def test_an_update_returns_how_many_rows_it_changed(ada: User) -> None:
    rows = [Conversation.objects.create(owner=ada, title="Sums") for _ in range(2)]
    title = Conversation._meta.get_field("title")
    change = CompiledUpdate(lambda: (_titled(), {"title": Parameter("new", title), "sampled_with": Parameter("with", JSON)}))
    assert change.run(**{"owner": ada.pk, "title": "Sums", "new": "Products", "with": {"seed": 1}}) == 2
    assert change.run(**{"owner": ada.pk, "title": "Sums", "new": "Products", "with": None}) == 0
    assert change.run(**{"owner": ada.pk, "title": "Products", "new": "Sums", "with": None}) == 2
    rows[0].refresh_from_db()
    assert (rows[0].title, rows[0].sampled_with) == ("Sums", None)


JSON = Conversation._meta.get_field("sampled_with")


@pytest.mark.parametrize("count", [1, 2, MAX_ROWS, MAX_ROWS + 1, 3 * MAX_ROWS + 2])
def test_rows_are_inserted_unchanged(conversation: Conversation, count: int) -> None:
    found = questions(conversation, count)
    assert [transcripts.frame_of(row).body for row in found] == [f"Question {number}?" for number in range(count)]
    assert [row.parent_id for row in found] == [None, *(row.pk for row in found[:-1])]
    assert all(row.created_at and row.raw is None and row.turn_id is None for row in found)


@pytest.mark.parametrize("model", [ActiveLeaf, Conversation, Message, SearchEntry, UsageEntry], ids=lambda model: model.__name__)
def test_a_new_row_is_the_one_that_the_model_itself_would_make(model: type[Model]) -> None:
    given: dict[str, object] = {each.attname: uuid4() for each in model._meta.concrete_fields if each.primary_key or each.is_relation}
    if hasattr(model, "created_at"):
        given["created_at"] = timezone.now()
    row, expected = CompiledInsert(model).new(**given), model(**given)
    assert row._state.adding
    assert {**vars(row), "_state": None} == {**vars(expected), "_state": None}


@pytest.mark.parametrize("model", list(apps.get_app_config("chatui").get_models()), ids=lambda model: model.__name__)
def test_nothing_listens_to_the_signals_that_new_and_stored_models_do_not_send(model: type[Model]) -> None:
    assert not any(getattr(SIGNALS, signal).has_listeners(model) for signal in ("pre_init", "post_init"))


def test_a_model_with_its_own_constructor_is_made_by_it() -> None:
    def noted(row: Any, *values: object) -> None:
        Model.__init__(row, *values)
        row.note = "made"

    with isolate_apps("chatui"):
        columns = {
            "word": CharField(max_length=9),
            "__init__": noted,
            "__module__": __name__,
            "Meta": type("Meta", (), {"app_label": "chatui"}),
        }
        model: Any = type("Noted", (Model,), columns)
        assert new_model(model, {"id": 1, "word": "a"}).note == stored_model(model, {"id": 1, "word": "a"}).note == "made"


def test_sqlite_is_not_called_in_an_event_loop_nor_in_a_broken_transaction_nor_after_a_deadline(ada: User) -> None:
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


def test_a_failure_is_one_of_djangos_own_and_a_percent_sign_is_kept(ada: User) -> None:
    Conversation.objects.create(owner=ada, title="100%s")
    insertion, row = CompiledInsert(Conversation), Conversation(owner=ada, title="Sums")
    insertion.run([row])
    with pytest.raises(IntegrityError):
        insertion.run([row])
    query = CompiledQuery(lambda: Conversation.objects.filter(owner=Parameter("owner", UUIDField())).extra(where=["title LIKE '100%%s'"]))
    assert [found.title for found in query.models(owner=ada.pk)] == ["100%s"]


def test_a_failure_at_a_later_row_is_one_of_djangos_own_too(ada: User) -> None:
    for title in ("1", "-9223372036854775808", "1"):
        Conversation.objects.create(owner=ada, title=title)
    size = Func(Cast("title", BigIntegerField()), function="abs")  # of the second, it is not a number of 64 bits
    own = Conversation.objects.filter(owner=Parameter("owner", UUIDField()))
    with pytest.raises(Error):
        CompiledQuery(lambda: own.values_list(size)).tuples(owner=ada.pk)


def test_new_rows_share_no_key_and_no_value_that_can_change() -> None:
    first, second = (CompiledInsert(Conversation).new(title="Sums") for _ in range(2))
    assert first.pk != second.pk
    assert first.title == second.title == "Sums"


def test_a_new_row_has_no_column_that_its_model_does_not_have() -> None:
    with pytest.raises(TypeError, match="Conversation has no titel"):
        CompiledInsert(Conversation).new(titel="Sums")


def test_an_existing_row_is_updated_instead(ada: User, conversation: Conversation) -> None:
    first, second = questions(conversation, 2)
    for leaf in (first, second):
        transcripts.activate(conversation, ada, leaf)
    assert list(ActiveLeaf.objects.values_list("message", flat=True)) == [second.pk]


def test_a_column_may_be_an_expression_in_every_row(ada: User) -> None:
    insertion = CompiledInsert(Conversation, title=Value("Fixed"))
    row = Conversation(owner=ada, title="own")
    insertion.run([row])
    assert not row._state.adding
    assert list(Conversation.objects.values_list("pk", "title")) == [(UUID(str(row.pk)), "Fixed")]


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


def test_a_compiled_delete_deletes_the_same_rows_as_the_orm(ada: User) -> None:
    turns = [store(ada, Ask(AskKind.SEND, uuid4(), "low", text="Hello")).turn for _ in range(2)]
    for number, each in enumerate((*turns, turns[0])):
        TurnPiece.objects.create(turn=each, number=number, frame=uuid4(), text="x")
    removal = CompiledDelete(lambda: TurnPiece.objects.filter(turn=Parameter("turn", UUIDField())))
    for _ in range(2):
        removal.run(turn=turns[0].pk)
        assert [piece.turn_id for piece in TurnPiece.objects.all()] == [turns[1].pk]


@pytest.mark.parametrize("model", [ActiveLeaf, Conversation, Message, Turn, UsageEntry])
def test_values_that_skip_conversion_are_what_the_orm_would_convert_them_to(model: type[Model]) -> None:
    connection, values = connections["default"], [None, "", "text", True, False, 0, 7, TurnState.RUNNING, uuid4(), b"bytes", timezone.now()]
    count = 0
    for field in model._meta.concrete_fields:
        place = _Slot(Parameter("value", field), connection)
        for value in values:
            if type(value) in place.known:
                expected, actual = field.get_db_prep_save(value, connection), place.prepared(value)
                assert (type(expected), expected) == (type(actual), actual), field
                count += 1
    assert count > len(model._meta.concrete_fields), "None at least, and the keys"


@pytest.mark.parametrize("model", [ActiveLeaf, Conversation, Message, Turn, UsageEntry])
def test_moments_and_choices_are_stored_as_the_orm_would_store_them(model: type[Model]) -> None:
    connection = connections["default"]
    moments = [timezone.now(), datetime(2026, 3, 29, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), datetime(1999, 12, 31, tzinfo=UTC)]
    for field in model._meta.concrete_fields:
        values = moments if isinstance(field, DateTimeField) else [TurnState.RUNNING, Role.USER] if isinstance(field, CharField) else []
        for value in values:
            expected, actual = field.get_db_prep_save(value, connection), _Slot(Parameter("value", field), connection).prepared(value)
            assert actual == expected and type(actual) in (str, datetime), field


def test_a_choice_that_is_an_enumeration_reads_back_as_its_value(ada: User) -> None:
    insertion = CompiledInsert(Conversation)
    insertion.run([insertion.new(owner_id=ada.pk, title="Sums", effort=Effort.LOW)])
    assert list(Conversation.objects.values_list("effort", flat=True)) == ["low"]
