"""SQL statements that Django's ORM compiles only once, and that are then executed with new values.

To word a statement costs the ORM several times what the database needs to carry it out. What every turn asks is therefore worded once for
each connection, with a ``Parameter`` where a value goes. What is asked stays the ORM's to say, for each database in its own words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import BooleanField, CharField, Expression, Field, Model, QuerySet, TextField
from django.db.models.constants import OnConflict
from django.db.models.sql import DeleteQuery, InsertQuery, UpdateQuery

M = TypeVar("M", bound=Model)

MOST_ROWS = 8
"""So many rows of one INSERT at most; more are given to the database in several."""


_PLAIN: dict[type, tuple[type, ...]] = {CharField: (str,), TextField: (str,), BooleanField: (bool,)}
"""Fields of these very classes have values of these very types stored as they are, in each database."""


class Parameter(Expression):
    """A place for the value of this name; ``output_field`` says how the database takes it. In a condition, the value is never None."""

    def __init__(self, name: str, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name
        # None is NULL in each of Django's own fields.
        is_known = type(output_field).__module__.startswith("django.db.models.fields")
        self._plain = (type(None), *_PLAIN.get(type(output_field), ())) if is_known else ()

    def prepared(self, value: object, connection: Any) -> Any:
        """The value as the database takes it. Most are taken as they are, and a turn has two hundred of them."""
        if type(value) in self._plain:
            return value
        return self.output_field.get_db_prep_save(value, connection)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """A placeholder, with itself in the place of the value."""
        return "%s", [self]


def parameters(model: type[Model], names: Iterable[str]) -> dict[str, Parameter]:
    """One for each of these columns of a model, under its name."""
    found = {each.name: each for each in model._meta.concrete_fields}
    return {name: Parameter(name, found[name]) for name in names}


@dataclass(frozen=True, slots=True)
class _Text:
    """A statement as its connection takes it."""

    sql: str
    parameters: Sequence[Any] = field(repr=False)
    compiler: Any
    converters: Any = None

    def filled(self, values: Mapping[str, object], connection: Any) -> list[Any]:
        """Its parameters, with these values. KeyError where one is missing."""
        return [each.prepared(values[each.name], connection) if isinstance(each, Parameter) else each for each in self.parameters]


def _text(connection: Any, key: tuple[object, ...], word: Callable[[Any], _Text]) -> _Text:
    """What this connection has kept under the key, worded now where it has not."""
    kept: dict[tuple[object, ...], _Text] = vars(connection).setdefault("compiled_statements", {})
    found = kept.get(key)
    if found is None:
        found = kept[key] = word(connection)
    return found


class Query(Generic[M]):
    """A SELECT. ``build`` makes its queryset, with parameters, of models without related ones, or of lists of values."""

    def __init__(self, build: Callable[[], QuerySet[M, Any]]) -> None:
        self._build = build

    def models(self, **values: object) -> list[M]:
        """The rows as models, with what was annotated as attributes."""
        text, rows = self._read(values)
        columns, annotations = text.compiler.klass_info["select_fields"], text.compiler.annotation_col_map or {}
        start, end = columns[0], columns[-1] + 1
        names = [column.target.attname for column, _, _ in text.compiler.select[start:end]]
        found = []
        for row in rows:
            model = text.compiler.klass_info["model"].from_db(DEFAULT_DB_ALIAS, names, row[start:end])
            for name, column in annotations.items():
                setattr(model, name, row[column])
            found.append(model)
        return found

    def tuples(self, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a queryset of ``values_list``."""
        return [tuple(row) for row in self._read(values)[1]]

    def _read(self, values: Mapping[str, object]) -> tuple[_Text, Sequence[Sequence[Any]]]:
        connection = connections[DEFAULT_DB_ALIAS]
        text = _text(connection, (self,), self._word)
        with connection.cursor() as cursor:
            cursor.execute(text.sql, text.filled(values, connection))
            rows = cursor.fetchall()
        return text, list(text.compiler.apply_converters(rows, text.converters)) if text.converters else rows

    def _word(self, connection: Any) -> _Text:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([column for column, _, _ in compiler.select[: compiler.col_count]])
        return _Text(sql, parameters, compiler, converters)


class Change:
    """An UPDATE of one table. ``build`` makes the queryset of its rows and what is changed, with parameters."""

    def __init__(self, build: Callable[[], tuple[QuerySet[Any, Any], Mapping[str, object]]]) -> None:
        self._build = build

    def run(self, **values: object) -> int:
        """How many rows were changed."""
        connection = connections[DEFAULT_DB_ALIAS]
        text = _text(connection, (self,), self._word)
        with connection.cursor() as cursor:
            cursor.execute(text.sql, text.filled(values, connection))
            return int(cursor.rowcount)

    def _word(self, connection: Any) -> _Text:
        rows, changes = self._build()
        query: UpdateQuery = rows.query.chain(UpdateQuery)  # type: ignore[assignment]
        query.add_update_values(dict(changes))
        query.annotations = {}
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return _Text(sql, parameters, compiler)


class Removal:
    """A DELETE from one table, of whose rows nothing else depends. ``build`` makes the queryset of the rows, with parameters."""

    def __init__(self, build: Callable[[], QuerySet[Any, Any]]) -> None:
        self._build = build

    def run(self, **values: object) -> None:
        """Delete them."""
        connection = connections[DEFAULT_DB_ALIAS]
        text = _text(connection, (self,), self._word)
        with connection.cursor() as cursor:
            cursor.execute(text.sql, text.filled(values, connection))

    def _word(self, connection: Any) -> _Text:
        compiler = self._build().query.chain(DeleteQuery).get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return _Text(sql, parameters, compiler)


class Insertion(Generic[M]):
    """An INSERT of new rows of a model; ``fixed`` are columns that are an expression in every row. A row's own key is not read back.

    ``unique`` and ``update``: where there is a row with the same values of the first, the second are changed in it instead.
    """

    def __init__(self, model: type[M], *, unique: Sequence[str] = (), update: Sequence[str] = (), **fixed: Expression) -> None:
        self._unique, self._update, self._fixed = unique, update, fixed
        self._model = model
        numbered = model._meta.auto_field
        self._fields = [each for each in model._meta.concrete_fields if each is not numbered]

    def run(self, rows: Sequence[M]) -> None:
        """Keep them. Call inside a transaction: they may take several statements."""
        for start in range(0, len(rows), MOST_ROWS):
            self._insert(rows[start : start + MOST_ROWS])

    def _insert(self, rows: Sequence[M]) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        text = _text(connection, (self, len(rows)), lambda connection: self._word(connection, len(rows)))
        values = {
            f"{number} {each.attname}": each.pre_save(row, add=True)
            for number, row in enumerate(rows)
            for each in self._fields
            if each.name not in self._fixed
        }
        with connection.cursor() as cursor:
            cursor.execute(text.sql, text.filled(values, connection))
        for row in rows:
            vars(row._state).update(adding=False, db=DEFAULT_DB_ALIAS)

    def _word(self, connection: Any, count: int) -> _Text:
        named = self._model._meta.get_field
        query = InsertQuery(
            self._model,
            on_conflict=OnConflict.UPDATE if self._update else None,
            update_fields=[named(name) for name in self._update],
            unique_fields=[named(name) for name in self._unique],
        )
        rows = [
            SimpleNamespace(
                **{each.attname: self._fixed.get(each.name) or Parameter(f"{number} {each.attname}", each) for each in self._fields}
            )
            for number in range(count)
        ]
        query.insert_values(self._fields, rows, raw=True)  # type: ignore[arg-type]  # it reads nothing but their columns
        compiler = query.get_compiler(connection=connection)
        [(sql, parameters)] = compiler.as_sql()
        return _Text(sql, parameters, compiler)
