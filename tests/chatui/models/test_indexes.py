"""Every row that refers to another is found through an index: deleting a person or a conversation looks for them."""

from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import ForeignKey, Model, UniqueConstraint
from django.db.models.options import Options

from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.message import Message, SearchEntry
from chatui.models.turn import Turn, TurnPiece
from chatui.models.usage import UsageEntry

pytestmark = pytest.mark.django_db

WRITTEN_BY_EACH_TURN = [ActiveLeaf, Conversation, Message, SearchEntry, Turn, TurnPiece, UsageEntry]


def references() -> list[tuple[str, str]]:
    """The tables and columns of all foreign keys of this product."""
    models = [model._meta for model in apps.get_app_config("chatui").get_models(include_auto_created=True) if model._meta.managed]
    return sorted({(each.db_table, field.column) for each in models for field in own_fields(each) if isinstance(field, ForeignKey)})


def own_fields(options: "Options[Model]") -> list[Any]:
    """The foreign keys that are columns of this table."""
    return [field for field in options.local_concrete_fields if isinstance(field, ForeignKey)]


@pytest.mark.parametrize(("table", "column"), references())
def test_a_foreign_key_is_looked_up_through_an_index(table: str, column: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads small tables as a whole, whatever their indexes.")
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {column} = %s", ["x"])
        [plan] = [row[3] for row in cursor.fetchall()]
    assert plan.startswith("SEARCH") and ("INTEGER PRIMARY KEY" in plan or f"({column}=?" in plan), plan


@pytest.mark.parametrize("model", WRITTEN_BY_EACH_TURN, ids=lambda model: model.__name__)
def test_no_turn_writes_an_index_that_another_one_replaces(model: type[Model]) -> None:
    options = model._meta
    whole = [index.fields[0].lstrip("-") for index in options.indexes if index.condition is None]
    whole += [each.fields[0] for each in options.constraints if isinstance(each, UniqueConstraint) and each.condition is None]
    for field in own_fields(options):
        assert not (field.db_index and field.name in whole), f"{field.name} is the first column of another index"
        assert not (field.db_index and field.null and field.name not in ("parent", "message")), f"{field.name} is NULL in most rows"
