"""Queries that Django's ORM compiles only once, and that are then executed with new values.

Compiling one with the ORM takes several times as long as the database needs to execute it. So those of every turn are compiled once per
connection, with a ``Parameter`` in place of each value. They are still written with the ORM, because they say who may do what, in the
dialect of the database, and executed by Django's cursor, with all that this promises. What a turn writes is in ``statements``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Expression, Field, Model, QuerySet

M = TypeVar("M", bound=Model)


class Parameter(Expression):
    """A placeholder for the value with this name; ``output_field`` converts it for the database. In a condition, it is never None."""

    def __init__(self, name: Hashable, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        return "%s", [self]


class _Compiled:
    """A query's SQL for one connection, with the places of its values."""

    def __init__(self, query: Any, connection: Any) -> None:
        self.compiler = query.get_compiler(connection=connection)
        self._sql, places = self.compiler.as_sql()
        self._places = [(each.name, each.output_field) if isinstance(each, Parameter) else (None, each) for each in places]
        self._connection = connection
        self._converters = self.compiler.get_converters([each for each, _, _ in self.compiler.select])

    def rows(self, values: Mapping[Any, Any]) -> Iterable[Sequence[Any]]:
        """Raises KeyError if a value is missing."""
        filled = [each if name is None else each.get_db_prep_save(values[name], self._connection) for name, each in self._places]
        with self._connection.cursor() as cursor:
            cursor.execute(self._sql, filled)
            return cast("Iterable[Sequence[Any]]", self.compiler.apply_converters(cursor.fetchall(), self._converters))


class CompiledQuery(Generic[M]):
    """A SELECT. ``build`` returns its queryset, with parameters: of models without related ones."""

    def __init__(self, build: Callable[[], QuerySet[M, Any]]) -> None:
        self._build = build

    def models(self, **values: object) -> list[M]:
        """The rows as models, with annotations as attributes."""
        query = self._compiled()
        compiler = query.compiler
        columns, annotations = compiler.klass_info["select_fields"], compiler.annotation_col_map or {}
        names = [compiler.select[column][0].target.attname for column in columns]
        found = []
        for row in query.rows(values):
            model = compiler.klass_info["model"].from_db(DEFAULT_DB_ALIAS, names, [row[column] for column in columns])
            for name, column in annotations.items():
                setattr(model, name, row[column])
            found.append(model)
        return found

    def _compiled(self) -> _Compiled:
        """Compiled for this connection, at the first use."""
        connection: Any = connections[DEFAULT_DB_ALIAS]
        cached: dict[CompiledQuery[Any], _Compiled] = vars(connection).setdefault("compiled_statements", {})
        if self not in cached:
            cached[self] = _Compiled(self._build().query, connection)
        return cached[self]
