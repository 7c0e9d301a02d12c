"""SQL statements that Django's ORM compiles only once, and that are then executed with new values.

Compiling a statement with the ORM takes several times as long as the database needs to execute it. So the statements of every turn are
compiled once per connection, with a ``Parameter`` in place of each value. They are still written with the ORM, in the dialect of the
database, and executed by Django's cursor, with all that this promises.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery, UpdateQuery

M = TypeVar("M", bound=Model)

MAX_ROWS = 8
"""The most rows in one INSERT; more take several statements."""


class Parameter(Expression):
    """A placeholder for the value with this name; ``output_field`` converts it for the database. In a condition, it is never None."""

    def __init__(self, name: Hashable, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        return "%s", [self]


def parameters(model: type[Model], names: Iterable[str]) -> dict[str, Parameter]:
    """A parameter for each of these columns of a model, by name."""
    return {name: Parameter(name, model._meta.get_field(name)) for name in names}  # type: ignore[arg-type]  # they are columns


class _Compiled:
    """A statement's SQL for one connection, with the places of its values."""

    def __init__(self, query: Any, connection: Any) -> None:
        self.compiler = query.get_compiler(connection=connection)
        written = self.compiler.as_sql()
        self._sql, places = written[0] if isinstance(written, list) else written
        self._places = [(each.name, each.output_field) if isinstance(each, Parameter) else (None, each) for each in places]
        self._connection = connection
        self.converters = self.compiler.get_converters([each for each, _, _ in self.compiler.select or ()])

    def run(self, values: Mapping[Any, Any], *, is_read: bool = False) -> Any:
        """The rows of a SELECT; how many rows another statement has changed. Raises KeyError if a value is missing."""
        filled = [each if name is None else each.get_db_prep_save(values[name], self._connection) for name, each in self._places]
        with self._connection.cursor() as cursor:
            cursor.execute(self._sql, filled)
            return cursor.fetchall() if is_read else cursor.rowcount


def _compiled(key: Hashable, build: Callable[[], Any]) -> _Compiled:
    """The connection's compiled statement for this key; ``build`` returns its query at the first use."""
    connection: Any = connections[DEFAULT_DB_ALIAS]
    cached: dict[Hashable, _Compiled] = vars(connection).setdefault("compiled_statements", {})
    if key not in cached:
        cached[key] = _Compiled(build(), connection)
    return cached[key]


class CompiledQuery(Generic[M]):
    """A SELECT. ``build`` returns its queryset, with parameters: of models without related ones, or of ``values_list``."""

    def __init__(self, build: Callable[[], QuerySet[M, Any]]) -> None:
        self._build = build

    def models(self, **values: object) -> list[M]:
        """The rows as models, with annotations as attributes."""
        compiler, rows = self._read(values)
        columns, annotations = compiler.klass_info["select_fields"], compiler.annotation_col_map or {}
        names = [compiler.select[column][0].target.attname for column in columns]
        found = []
        for row in rows:
            model = compiler.klass_info["model"].from_db(DEFAULT_DB_ALIAS, names, [row[column] for column in columns])
            for name, column in annotations.items():
                setattr(model, name, row[column])
            found.append(model)
        return found

    def tuples(self, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a queryset of ``values_list``."""
        return [tuple(row) for row in self._read(values)[1]]

    def _read(self, values: Mapping[str, object]) -> tuple[Any, Iterable[Sequence[Any]]]:
        found = _compiled(self, lambda: self._build().query)
        return found.compiler, found.compiler.apply_converters(found.run(values, is_read=True), found.converters)


class CompiledUpdate:
    """An UPDATE of one table. ``build`` returns the queryset of the rows, and the changed columns, with parameters."""

    def __init__(self, build: Callable[[], tuple[QuerySet[Any, Any], Mapping[str, object]]]) -> None:
        self._build = build

    def run(self, **values: object) -> int:
        """Execute it. Returns how many rows were changed."""
        return int(_compiled(self, self._query).run(values))

    def _query(self) -> UpdateQuery:
        rows, changes = self._build()
        query: UpdateQuery = rows.query.chain(UpdateQuery)  # type: ignore[assignment]
        query.add_update_values(dict(changes))
        query.annotations = {}
        return query


class CompiledInsert(Generic[M]):
    """An INSERT of new rows of a model. ``fixed``: columns with the same expression in every row. Generated keys are not read back.

    ``unique`` and ``update``: if a row with the same values in the ``unique`` columns exists, its ``update`` columns are changed instead.
    """

    def __init__(self, model: type[M], *, unique: Sequence[str] = (), update: Sequence[str] = (), **fixed: Expression) -> None:
        self._model, self._unique, self._update, self._fixed = model, unique, update, fixed
        self._fields = [each for each in model._meta.concrete_fields if each is not model._meta.auto_field]

    def run(self, rows: Sequence[M]) -> None:
        """Insert the rows. Call it inside a transaction, because this may take several statements."""
        for start in range(0, len(rows), MAX_ROWS):
            some = rows[start : start + MAX_ROWS]
            values = {(number, each.attname): each.pre_save(row, add=True) for number, row in enumerate(some) for each in self._fields}
            _compiled((self, len(some)), partial(self._query, len(some))).run(values)
            for row in some:
                vars(row._state).update(adding=False, db=DEFAULT_DB_ALIAS)

    def _query(self, count: int) -> InsertQuery:
        named = self._model._meta.get_field
        query = InsertQuery(
            self._model,
            on_conflict=OnConflict.UPDATE if self._update else None,
            update_fields=[named(name) for name in self._update],
            unique_fields=[named(name) for name in self._unique],
        )
        rows = [
            SimpleNamespace(
                **{each.attname: self._fixed.get(each.name) or Parameter((number, each.attname), each) for each in self._fields}
            )
            for number in range(count)
        ]
        query.insert_values(self._fields, rows, raw=True)  # type: ignore[arg-type]  # it reads nothing but their columns
        return query
