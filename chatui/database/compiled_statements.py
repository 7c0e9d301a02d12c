"""SQL statements that Django's ORM compiles only once, and that are then executed with new values.

Compiling a statement with the ORM takes several times as long as the database needs to execute it. So the statements of every turn are
compiled once per connection, with a ``Parameter`` in place of each value. They are still written with the ORM, in the dialect of the
database.

Django creates a cursor for each statement, wraps it twice, and rewrites every placeholder. In SQLite this takes as long as the statement
itself, so there the database's own connection is called. Everything that Django promises is kept: deadlines and other wrappers, its own
exceptions, no statement in a broken transaction, and no database on the event loop.

Instances of models are created from the values of their columns, without calling a setter for each of them. No ``pre_init`` or
``post_init`` signal is sent: nothing listens to them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import (
    BigIntegerField,
    BooleanField,
    CharField,
    DateTimeField,
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

_PLACEHOLDER = re.compile(r"(?<!%)%s")


class CompiledText:
    """A statement's SQL, for one connection."""

    def __init__(self, connection: Any, sql: str) -> None:
        """``sql`` has Django's placeholders, ``%s``."""
        self._connection = connection
        self._sql = sql
        self._is_direct = connection.vendor == "sqlite"
        self._native = _PLACEHOLDER.sub("?", sql).replace("%%", "%")

    def rows(self, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """Execute a SELECT, and return its rows."""
        if self._calls_directly():
            found = self._execute(parameters)
            with self._connection.wrap_database_errors:  # SQLite looks for each row only when it is fetched
                return list(found.fetchall())
        with self._connection.cursor() as cursor:
            cursor.execute(self._sql, parameters)
            return list(cursor.fetchall())

    def run(self, parameters: Sequence[object]) -> int:
        """Execute another statement. Returns how many rows were changed."""
        if self._calls_directly():
            return int(self._execute(parameters).rowcount)
        with self._connection.cursor() as cursor:
            cursor.execute(self._sql, parameters)
            return int(cursor.rowcount)

    def _calls_directly(self) -> bool:
        return self._is_direct and not self._connection.force_debug_cursor  # which records statements, in tests

    def _execute(self, parameters: Sequence[object]) -> Any:
        """Execute it in SQLite. Returns SQLite's cursor.

        Raises:
            django.db.Error: the statement failed, its deadline has passed, or an earlier failure broke the transaction.
            SynchronousOnlyOperation: this is an event loop.
        """
        connection = self._connection
        connection.validate_thread_sharing()
        connection.ensure_connection()
        connection.validate_no_broken_transaction()
        execute: Any = self._call
        for wrapper in reversed(connection.execute_wrappers):
            execute = functools.partial(wrapper, execute)
        return execute(self._sql, parameters, False, {"connection": connection, "cursor": None})

    def _call(self, _sql: str, parameters: Sequence[object], *_: object) -> Any:
        with self._connection.wrap_database_errors:
            return self._connection.connection.execute(self._native, parameters)


M = TypeVar("M", bound=Model)

# Importing it with a statement changes the order in which mypy's plugin for Django reads the models, and it then misses some of their
# reverse relations.
_State: Any = import_module("django.db.models.base").ModelState


def new_model(model: type[M], values: dict[str, Any]) -> M:
    """An instance that is not stored yet. ``values`` has all its columns, in their order, and belongs to the instance from now on."""
    if not _is_plain(model):
        return model(*values.values())
    found = model.__new__(model)
    values["_state"] = _State()
    found.__dict__ = values
    return found


def stored_model(model: type[M], values: dict[str, Any]) -> M:
    """An instance of a row that was read, as ``Model.from_db`` would return it: columns that are missing from ``values`` are deferred."""
    if not _is_plain(model):
        return model.from_db(DEFAULT_DB_ALIAS, list(values), list(values.values()))
    found = model.__new__(model)
    values["_state"] = state = _State()
    vars(state).update(adding=False, db=DEFAULT_DB_ALIAS)
    found.__dict__ = values
    return found


@functools.cache
def _is_plain(model: type[Model]) -> bool:
    """Whether the model's constructor and all its setters only store the values."""
    setters = {type(_attribute(model, field.attname)) for field in model._meta.concrete_fields}
    is_own = model.__init__ is not Model.__init__ or model.from_db.__func__ is not Model.from_db.__func__  # type: ignore[attr-defined]
    return setters <= {Field.descriptor_class, ForeignKey.descriptor_class} and not is_own


def _attribute(model: type[Model], name: str) -> object:
    """A class attribute, without calling it as a descriptor."""
    return next(vars(each)[name] for each in model.__mro__ if name in vars(each))


MAX_ROWS = 8
"""The most rows in one INSERT; more take several statements."""


_PLAIN: dict[type, tuple[type, ...]] = {CharField: (str,), TextField: (str,), BooleanField: (bool,), UUIDField: (UUID,)}
"""For exactly these field classes, the value types that are stored unchanged; a UUID only if the database has a type for it."""
_INTEGER_FIELDS = (BigIntegerField, IntegerField, PositiveIntegerField, PositiveSmallIntegerField, SmallIntegerField)
"""Field classes whose integers SQLite takes unchanged. For other databases, Django adds the size of the integer."""


class Parameter(Expression):
    """A placeholder for the value with this name; ``output_field`` converts it for the database. In a condition, it is never None."""

    def __init__(self, name: Hashable, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """A placeholder, with this object in place of the value."""
        return "%s", [self]


def parameters(model: type[Model], names: Iterable[str]) -> dict[str, Parameter]:
    """A parameter for each of these columns of a model, by name."""
    found = {each.name: each for each in model._meta.concrete_fields}
    return {name: Parameter(name, found[name]) for name in names}


class _Slot:
    """A parameter in a statement that is compiled for one connection."""

    __slots__ = ("_connection", "_field", "_has_native_uuids", "_is_moment", "_is_text", "known", "name", "unchanged")

    def __init__(self, parameter: Parameter, connection: Any) -> None:
        self.name: Any = parameter.name
        self._connection = connection
        self._field = parameter.output_field
        self._has_native_uuids = connection.features.has_native_uuid_field
        self._is_moment, self._is_text = type(self._field) is DateTimeField, type(self._field) in (CharField, TextField)
        self.known = frozenset(_known(self._field, connection.vendor))
        """The types whose values need no conversion by the field."""
        self.unchanged = self.known if self._has_native_uuids else self.known - {UUID}
        """The types whose values are stored as they are."""

    def prepared(self, value: Any) -> Any:
        """The value, converted for the database. A turn has two hundred values, and most need no conversion. Moments and choices need only
        the last of the steps in which a field converts."""
        kind = type(value)
        if kind in self.known:
            return value.hex if kind is UUID and not self._has_native_uuids else value
        if self._is_text and isinstance(value, str) and isinstance(value, Enum):
            return value.value
        if self._is_moment and kind is datetime and value.tzinfo is not None:
            return self._connection.ops.adapt_datetimefield_value(value)
        return self._field.get_db_prep_save(value, self._connection)


def _known(field: Any, vendor: str) -> Iterator[type]:
    while type(field) in (ForeignKey, OneToOneField):
        field = field.target_field
    if type(field).__module__.startswith("django.db.models.fields"):
        yield type(None)  # NULL in each of Django's own fields
    yield from _PLAIN.get(type(field), ())
    if vendor == "sqlite" and type(field) in _INTEGER_FIELDS:
        yield int


def _computes(field: Field[Any, Any]) -> bool:
    """Whether the value to store may differ from the row's attribute."""
    if type(field) is DateTimeField:
        return field.auto_now or field.auto_now_add
    return type(field).pre_save is not Field.pre_save


class _CompiledSql(CompiledText):
    """The SQL of a statement, compiled for one connection, with the places of its values."""

    def __init__(self, connection: Any, sql: str, parameters: Iterable[Any], compiler: Any, converters: Any = None) -> None:
        super().__init__(connection, sql)
        self.compiler = compiler
        self.converters = converters
        self._slots = [_Slot(each, connection) if isinstance(each, Parameter) else each for each in parameters]

    def filled(self, values: Mapping[Any, Any]) -> list[Any]:
        """The parameters of the statement, with these values. Raises KeyError if one is missing."""
        found = []
        for slot in self._slots:
            if type(slot) is not _Slot:
                found.append(slot)
                continue
            value = values[slot.name]
            found.append(value if type(value) in slot.unchanged else slot.prepared(value))
        return found

    def filled_with_rows(self, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The same for parameters whose names are the number of a row and a column in it."""
        found = []
        for slot in self._slots:
            if type(slot) is not _Slot:
                found.append(slot)
                continue
            number, column = slot.name
            value = rows[number][column]
            found.append(value if type(value) in slot.unchanged else slot.prepared(value))
        return found


def _compiled(connection: Any, key: tuple[object, ...], compile_it: Callable[[Any], _CompiledSql]) -> _CompiledSql:
    """The connection's compiled statement for this key; it is compiled at the first use."""
    cached: dict[tuple[object, ...], _CompiledSql] = vars(connection).setdefault("compiled_statements", {})
    found = cached.get(key)
    if found is None:
        found = cached[key] = compile_it(connection)
    return found


class CompiledQuery(Generic[M]):
    """A SELECT. ``build`` returns its queryset, with parameters: of models without related ones, or of ``values_list``."""

    def __init__(self, build: Callable[[], QuerySet[M, Any]]) -> None:
        self._build = build

    def models(self, **values: object) -> list[M]:
        """The rows as models, with annotations as attributes."""
        text, rows = self._read(values)
        columns, annotations = text.compiler.klass_info["select_fields"], text.compiler.annotation_col_map or {}
        start, end = columns[0], columns[-1] + 1
        names = [column.target.attname for column, _, _ in text.compiler.select[start:end]]
        found = []
        for row in rows:
            model = stored_model(text.compiler.klass_info["model"], dict(zip(names, row[start:end], strict=True)))
            for name, column in annotations.items():
                setattr(model, name, row[column])
            found.append(model)
        return found

    def tuples(self, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a queryset of ``values_list``."""
        return [tuple(row) for row in self._read(values)[1]]

    def _read(self, values: Mapping[str, object]) -> tuple[_CompiledSql, Sequence[Sequence[Any]]]:
        connection = connections[DEFAULT_DB_ALIAS]
        text = _compiled(connection, (self,), self._compile)
        rows = text.rows(text.filled(values))
        return text, list(text.compiler.apply_converters(rows, text.converters)) if text.converters else rows

    def _compile(self, connection: Any) -> _CompiledSql:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([column for column, _, _ in compiler.select[: compiler.col_count]])
        return _CompiledSql(connection, sql, parameters, compiler, converters)


class CompiledUpdate:
    """An UPDATE of one table. ``build`` returns the queryset of the rows, and the changed columns, with parameters."""

    def __init__(self, build: Callable[[], tuple[QuerySet[Any, Any], Mapping[str, object]]]) -> None:
        self._build = build

    def run(self, **values: object) -> int:
        """Execute it. Returns how many rows were changed."""
        connection = connections[DEFAULT_DB_ALIAS]
        text = _compiled(connection, (self,), self._compile)
        return text.run(text.filled(values))

    def _compile(self, connection: Any) -> _CompiledSql:
        rows, changes = self._build()
        query: UpdateQuery = rows.query.chain(UpdateQuery)  # type: ignore[assignment]
        query.add_update_values(dict(changes))
        query.annotations = {}
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return _CompiledSql(connection, sql, parameters, compiler)


class CompiledDelete:
    """A DELETE of rows to which no other table refers. ``build`` returns the queryset of the rows, with parameters."""

    def __init__(self, build: Callable[[], QuerySet[Any, Any]]) -> None:
        self._build = build

    def run(self, **values: object) -> None:
        """Delete the rows."""
        connection = connections[DEFAULT_DB_ALIAS]
        text = _compiled(connection, (self,), self._compile)
        text.run(text.filled(values))

    def _compile(self, connection: Any) -> _CompiledSql:
        compiler = self._build().query.chain(DeleteQuery).get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return _CompiledSql(connection, sql, parameters, compiler)


class CompiledInsert(Generic[M]):
    """An INSERT of new rows of a model. ``fixed``: columns with the same expression in every row. Generated keys are not read back.

    ``unique`` and ``update``: if a row with the same values in the ``unique`` columns exists, its ``update`` columns are changed instead.
    """

    def __init__(self, model: type[M], *, unique: Sequence[str] = (), update: Sequence[str] = (), **fixed: Expression) -> None:
        self._unique, self._update, self._fixed = unique, update, fixed
        self._model = model
        numbered = model._meta.auto_field
        self._fields = [each for each in model._meta.concrete_fields if each is not numbered]
        self._made = {each.attname: each.default for each in model._meta.concrete_fields if each.has_default() and callable(each.default)}
        self._defaults = {each.attname: None if each.attname in self._made else each.get_default() for each in model._meta.concrete_fields}
        # Most values are read from the row directly. ``pre_save`` is only called for fields that compute a value, such as a creation time.
        self._computed = [each for each in self._fields if each.name not in fixed and _computes(each)]

    def new(self, **columns: object) -> M:
        """A row with these columns, and the defaults of all others. Columns have their names in the database, such as ``person_id``.

        Given names, the model's own constructor looks for every field and every related object.
        """
        values = self._defaults | columns
        if len(values) != len(self._defaults):
            raise TypeError(f"{self._model.__name__} has no {', '.join(columns.keys() - self._defaults.keys())}")
        for name, make in self._made.items():
            if name not in columns:
                values[name] = make()
        return new_model(self._model, values)

    def run(self, rows: Sequence[M]) -> None:
        """Insert the rows. Call it inside a transaction, because this may take several statements."""
        for start in range(0, len(rows), MAX_ROWS):
            self._insert(rows[start : start + MAX_ROWS])

    def _insert(self, rows: Sequence[M]) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        text = _compiled(connection, (self, len(rows)), lambda connection: self._compile(connection, len(rows)))
        for row in rows:
            vars(row).update((each.attname, each.pre_save(row, add=True)) for each in self._computed)
        text.run(text.filled_with_rows([vars(row) for row in rows]))
        for row in rows:
            vars(row._state).update(adding=False, db=DEFAULT_DB_ALIAS)

    def _compile(self, connection: Any, count: int) -> _CompiledSql:
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
        return _CompiledSql(connection, sql, parameters, compiler)
