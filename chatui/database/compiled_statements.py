"""SQL statements that Django's ORM compiles only once, and that are then executed with new values.

To word a statement costs the ORM several times what the database needs to carry it out. What every turn asks is therefore worded once for
each connection, with a ``Parameter`` where a value goes. What is asked stays the ORM's to say, for each database in its own words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import (
    BigIntegerField,
    BooleanField,
    CharField,
    Expression,
    Field,
    ForeignKey,
    IntegerField,
    Model,
    OneToOneField,
    PositiveIntegerField,
    PositiveSmallIntegerField,
    QuerySet,
    SmallIntegerField,
    TextField,
    UUIDField,
)
from django.db.models.constants import OnConflict
from django.db.models.sql import DeleteQuery, InsertQuery, UpdateQuery

M = TypeVar("M", bound=Model)

MOST_ROWS = 8
"""So many rows of one INSERT at most; more are given to the database in several."""


_PLAIN: dict[type, tuple[type, ...]] = {CharField: (str,), TextField: (str,), BooleanField: (bool,), UUIDField: (UUID,)}
"""Fields of these very classes have values of these very types stored as they are; a UUID, where the database has a type for it."""
_WHOLE_NUMBERS = (BigIntegerField, IntegerField, PositiveIntegerField, PositiveSmallIntegerField, SmallIntegerField)
"""The same in SQLite; other databases are told their size."""


class Parameter(Expression):
    """A place for the value of this name; ``output_field`` says how the database takes it. In a condition, the value is never None."""

    def __init__(self, name: Hashable, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """A placeholder, with itself in the place of the value."""
        return "%s", [self]


def parameters(model: type[Model], names: Iterable[str]) -> dict[str, Parameter]:
    """One for each of these columns of a model, under its name."""
    found = {each.name: each for each in model._meta.concrete_fields}
    return {name: Parameter(name, found[name]) for name in names}


class _Place:
    """The place of a parameter in a statement of one connection."""

    __slots__ = ("_connection", "_field", "_has_native_uuids", "known", "name")

    def __init__(self, parameter: Parameter, connection: Any) -> None:
        self.name = parameter.name
        self._connection = connection
        self._field = parameter.output_field
        self._has_native_uuids = connection.features.has_native_uuid_field
        self.known = frozenset(_known(self._field, connection.vendor))
        """The types whose values the field need not be asked about."""

    def prepared(self, value: Any) -> Any:
        """The value as the database takes it. Most are taken as they are, and a turn has two hundred of them."""
        kind = type(value)
        if kind in self.known:
            return value.hex if kind is UUID and not self._has_native_uuids else value
        return self._field.get_db_prep_save(value, self._connection)


def _known(field: Any, vendor: str) -> Iterator[type]:
    while type(field) in (ForeignKey, OneToOneField):
        field = field.target_field
    if type(field).__module__.startswith("django.db.models.fields"):
        yield type(None)  # NULL in each of Django's own fields
    yield from _PLAIN.get(type(field), ())
    if vendor == "sqlite" and type(field) in _WHOLE_NUMBERS:
        yield int


class _Text:
    """A statement as its connection takes it."""

    def __init__(self, connection: Any, sql: str, parameters: Iterable[Any], compiler: Any, converters: Any = None) -> None:
        self.sql = sql
        self.compiler = compiler
        self.converters = converters
        self._places = [_Place(each, connection) if isinstance(each, Parameter) else each for each in parameters]

    def filled(self, values: Mapping[Any, object]) -> list[Any]:
        """Its parameters, with these values. KeyError where one is missing."""
        return [each.prepared(values[each.name]) if type(each) is _Place else each for each in self._places]


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
            cursor.execute(text.sql, text.filled(values))
            rows = cursor.fetchall()
        return text, list(text.compiler.apply_converters(rows, text.converters)) if text.converters else rows

    def _word(self, connection: Any) -> _Text:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([column for column, _, _ in compiler.select[: compiler.col_count]])
        return _Text(connection, sql, parameters, compiler, converters)


class Change:
    """An UPDATE of one table. ``build`` makes the queryset of its rows and what is changed, with parameters."""

    def __init__(self, build: Callable[[], tuple[QuerySet[Any, Any], Mapping[str, object]]]) -> None:
        self._build = build

    def run(self, **values: object) -> int:
        """How many rows were changed."""
        connection = connections[DEFAULT_DB_ALIAS]
        text = _text(connection, (self,), self._word)
        with connection.cursor() as cursor:
            cursor.execute(text.sql, text.filled(values))
            return int(cursor.rowcount)

    def _word(self, connection: Any) -> _Text:
        rows, changes = self._build()
        query: UpdateQuery = rows.query.chain(UpdateQuery)  # type: ignore[assignment]
        query.add_update_values(dict(changes))
        query.annotations = {}
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return _Text(connection, sql, parameters, compiler)


class Removal:
    """A DELETE from one table, of whose rows nothing else depends. ``build`` makes the queryset of the rows, with parameters."""

    def __init__(self, build: Callable[[], QuerySet[Any, Any]]) -> None:
        self._build = build

    def run(self, **values: object) -> None:
        """Delete them."""
        connection = connections[DEFAULT_DB_ALIAS]
        text = _text(connection, (self,), self._word)
        with connection.cursor() as cursor:
            cursor.execute(text.sql, text.filled(values))

    def _word(self, connection: Any) -> _Text:
        compiler = self._build().query.chain(DeleteQuery).get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return _Text(connection, sql, parameters, compiler)


class Insertion(Generic[M]):
    """An INSERT of new rows of a model; ``fixed`` are columns that are an expression in every row. A row's own key is not read back.

    ``unique`` and ``update``: where there is a row with the same values of the first, the second are changed in it instead.
    """

    def __init__(self, model: type[M], *, unique: Sequence[str] = (), update: Sequence[str] = (), **fixed: Expression) -> None:
        self._unique, self._update, self._fixed = unique, update, fixed
        self._model = model
        numbered = model._meta.auto_field
        self._fields = [each for each in model._meta.concrete_fields if each is not numbered]
        own = [each for each in self._fields if each.name not in fixed]
        # Most fields give what the row holds; only those that do more, such as the time at which a row is made, are asked for it.
        self._held = [each.attname for each in own if type(each).pre_save is Field.pre_save]
        self._made = [each for each in own if type(each).pre_save is not Field.pre_save]

    def run(self, rows: Sequence[M]) -> None:
        """Keep them. Call inside a transaction: they may take several statements."""
        for start in range(0, len(rows), MOST_ROWS):
            self._insert(rows[start : start + MOST_ROWS])

    def _insert(self, rows: Sequence[M]) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        text = _text(connection, (self, len(rows)), lambda connection: self._word(connection, len(rows)))
        values: dict[Any, object] = {}
        for number, row in enumerate(rows):
            held = vars(row)
            values |= {(number, name): held[name] for name in self._held}
            values |= {(number, each.attname): each.pre_save(row, add=True) for each in self._made}
        with connection.cursor() as cursor:
            cursor.execute(text.sql, text.filled(values))
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
                **{each.attname: self._fixed.get(each.name) or Parameter((number, each.attname), each) for each in self._fields}
            )
            for number in range(count)
        ]
        query.insert_values(self._fields, rows, raw=True)  # type: ignore[arg-type]  # it reads nothing but their columns
        compiler = query.get_compiler(connection=connection)
        [(sql, parameters)] = compiler.as_sql()
        return _Text(connection, sql, parameters, compiler)
