"""Every row that refers to another is found through an index: deleting a person or a conversation looks for them."""

from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import ForeignKey, Model
from django.db.models.options import Options

pytestmark = pytest.mark.django_db


def references() -> list[tuple[str, str]]:
    """The tables and columns of all foreign keys of this product."""
    models = [model._meta for model in apps.get_app_config("chatui").get_models(include_auto_created=True) if model._meta.managed]
    return sorted({(each.db_table, field.column) for each in models for field in own_fields(each) if isinstance(field, ForeignKey)})


def own_fields(options: "Options[Model]") -> list[Any]:
    """The foreign keys that are columns of this table."""
    return [field for field in options.local_concrete_fields if isinstance(field, ForeignKey)]


def test_every_foreign_key_is_looked_up_through_an_index() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads small tables as a whole, whatever their indexes.")
    for table, column in references():
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {column} = %s", ["x"])
            [plan] = [row[3] for row in cursor.fetchall()]
        assert plan.startswith("SEARCH") and ("INTEGER PRIMARY KEY" in plan or f"({column}=?" in plan), (table, plan)
