"""Statements of every turn, in plain SQL that both databases read: rows and values in, rows, tuples or the number of changed rows out.

To compile a statement, construct a row and convert each value, the ORM takes several times as long as the database needs to execute it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache, lru_cache, partial
from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import NOT_PROVIDED, ForeignKey, Model
from django.db.models.base import ModelState

from chatui.database.connections import of_thread

M = TypeVar("M", bound=Model)

MAX_ROWS = 50
"""The most rows in one INSERT; more take several statements."""
_AS_THEY_ARE = frozenset({str, int, bool, float, bytes, type(None)})


@dataclass(frozen=True, slots=True)
class _Table:
    """What an INSERT into a table needs to know of it."""

    name: str
    columns: tuple[str, ...]
    """Those that an INSERT names."""
    related: Mapping[str, str]
    fixed: Mapping[str, Any]
    """The defaults that are the same for each row."""
    made: tuple[tuple[str, Callable[[], Any]], ...]
    """The defaults that are called for each row."""


@cache
def _table(model: type[Model]) -> _Table:
    options = model._meta
    fields = [each for each in options.concrete_fields if each is not options.auto_field]
    made = {each.attname: _now if getattr(each, "auto_now_add", False) else each.default for each in fields}
    called = tuple((name, default) for name, default in made.items() if callable(default) and default is not NOT_PROVIDED)
    fixed = {each.attname: each.get_default() for each in options.concrete_fields if each.attname not in dict(called)}
    related = {each.name: each.attname for each in fields if isinstance(each, ForeignKey)}
    return _Table(options.db_table, tuple(each.attname for each in fields), related, fixed, called)


_now = partial(datetime.now, UTC)


def new(model: type[M], /, **values: Any) -> M:
    """A row that is to be inserted: ``model(**values)``, without Django's constructor. Related rows are known by their objects or keys."""
    table, row, state = _table(model), model.__new__(model), ModelState()
    attributes = row.__dict__
    attributes.update(table.fixed, _state=state)
    for name, default in table.made:
        if name not in values:
            attributes[name] = default()
    for name, value in values.items():
        if name in table.related:
            state.fields_cache[name] = value
            attributes[table.related[name]] = None if value is None else value.pk
        else:
            attributes[name] = value
    return row


def insert(rows: Sequence[Model], on_conflict: str = "", **expressions: str) -> None:
    """Insert rows of one model. Call it inside a transaction, because this may take several statements. Generated keys are not read back.

    ``on_conflict``: the clause for a row that exists already. ``expressions``: the SQL of columns that have the same in each row.
    """
    for start in range(0, len(rows), MAX_ROWS):
        some = [row.__dict__ for row in rows[start : start + MAX_ROWS]]
        sql, columns = _insert(type(rows[0]), len(some), on_conflict, tuple(expressions.items()))
        execute(sql, [row[name] for row in some for name in columns])
    for row in rows:
        row._state.__dict__.update(adding=False, db=DEFAULT_DB_ALIAS)


@cache
def _insert(model: type[Model], count: int, on_conflict: str, expressions: tuple[tuple[str, str], ...]) -> tuple[str, list[str]]:
    table, written = _table(model), dict(expressions)
    values = ", ".join(written.get(name, "%s") for name in table.columns)
    names = '", "'.join(table.columns)
    sql = f'INSERT INTO "{table.name}" ("{names}") VALUES {", ".join([f"({values})"] * count)} {on_conflict}'  # noqa: S608 - all are ours
    return sql, [name for name in table.columns if name not in written]


def update(table: str, changes: Mapping[str, object], where: str, *values: object) -> int:
    """Give the columns of these rows other values. Returns how many rows were changed."""
    return execute(_update(table, tuple(changes), where), [*changes.values(), *values])


def updated(table: str, changes: Mapping[str, object], where: str, *values: object, read: str) -> list[tuple[Any, ...]]:
    """As ``update``. Returns for each changed row the values of the SQL expressions ``read``, as in ``query``."""
    return query(f"{_update(table, tuple(changes), where)} RETURNING {read}", *changes.values(), *values)


def _update(table: str, columns: tuple[str, ...], where: str) -> str:
    names = '" = %s, "'.join(columns)
    return f'UPDATE "{table}" SET "{names}" = %s WHERE {where}'  # noqa: S608 - so are these


def execute(sql: str, values: Iterable[object]) -> int:
    """Execute a statement of one's own. Returns how many rows it has changed."""
    return int(_executed(sql, values).cursor.rowcount)


def query(sql: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a query of one's own. Keys are as the database has them (``connections.as_uuid``)."""
    return list(_executed(sql, values).fetchall())


def read(
    model: type[M], where: str, *values: object, also: Sequence[str] = (), with_its: str = "", without: Sequence[str] = ()
) -> list[tuple[M, tuple[Any, ...]]]:
    """The rows of a model as Django reads them, each with the values of some SQL expressions.

    ``where``: the condition. ``values``: those of the placeholders, of ``also`` first. ``also``: the expressions, whose values are as in
    ``query``. ``with_its``: the name of a foreign key, whose row is read with each. ``without``: columns that are left out, and read for a
    single row when it is asked for them.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    other: Any = model._meta.get_field(with_its).related_model if with_its else None
    columns, table = _reading(model, connection.vendor, tuple(without)), _table(model).name
    related = _reading(other, connection.vendor, tuple(without)) if other else columns
    selected, source = [columns.select, *also], table
    if other:
        selected.append(related.select)
        source = f"{table} LEFT JOIN {_table(other).name} ON {_table(other).name}.id = {table}.{with_its}_id"
    end_of_row = len(columns.names)
    end_of_also = end_of_row + len(also)
    rows = []
    for cells in query(f"SELECT {', '.join(selected)} FROM {source} WHERE {where}", *values):  # noqa: S608 - all are ours
        row = _read(model, columns, cells, connection)
        if other:
            of_other = cells[end_of_also:]
            row._state.fields_cache[with_its] = None if of_other[0] is None else _read(other, related, of_other, connection)
        rows.append((row, cells[end_of_row:end_of_also]))
    return rows


def one_of(values: Sequence[object]) -> str:
    """The condition that a column is one of so many values. There must be one."""
    return f"IN ({', '.join(['%s'] * len(values))})"


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a SELECT names, the attributes that they become, and how the values of some are converted."""

    select: str
    names: tuple[str, ...]
    converters: tuple[tuple[str, Callable[..., Any], Any], ...]


@cache
def _reading(model: type[Model], vendor: str, without: tuple[str, ...]) -> _Columns:
    connection: Any = connections[DEFAULT_DB_ALIAS]
    table = model._meta.db_table
    fields = [each for each in model._meta.concrete_fields if each.attname not in without]
    columns = [(each.attname, each.get_col(table)) for each in fields]
    converters = tuple(
        (name, convert, column)
        for name, column in columns
        for convert in (*_from_database(column, connection), *column.get_db_converters(connection))
    )
    return _Columns(", ".join(f'{table}."{each.column}"' for each in fields), tuple(name for name, _ in columns), converters)


def _from_database(column: Any, connection: Any) -> Sequence[Callable[..., Any]]:
    """What Django converts a value with; but SQLite's driver has made times and truth values already, as the columns are declared."""
    own = _OF_SQLITE.get(column.output_field.get_internal_type()) if connection.vendor == "sqlite" else None
    return connection.ops.get_db_converters(column) if own is None else own


def _key(value: str, *_: object) -> UUID:
    return UUID(int=int(value, 16))


def _time(value: datetime, *_: object) -> datetime:
    return value.replace(tzinfo=UTC)


_OF_SQLITE: Mapping[str, Sequence[Callable[..., Any]]] = {"UUIDField": [_key], "DateTimeField": [_time], "BooleanField": []}


def _read(model: type[M], columns: _Columns, values: Sequence[Any], connection: Any) -> M:
    row, attributes = model.__new__(model), dict(zip(columns.names, values, strict=False))
    for name, convert, column in columns.converters:
        if attributes[name] is not None:
            attributes[name] = convert(attributes[name], column, connection)
    row.__dict__.update(attributes, _state=ModelState())
    row._state.__dict__.update(adding=False, db=DEFAULT_DB_ALIAS)
    return row


def locking(table: str, *, waits: bool = True) -> str:
    """The end of a query that locks its rows of this table; unless it ``waits``, without those that others have locked. In SQLite, a
    transaction that writes is alone."""
    if connections[DEFAULT_DB_ALIAS].vendor != "postgresql":
        return ""
    return f" FOR NO KEY UPDATE OF {table}" + ("" if waits else " SKIP LOCKED")


def _executed(sql: str, values: Iterable[object]) -> Any:
    """The cursor, for its result to be read before the next statement."""
    connection: Any = of_thread.wrapper or connections[DEFAULT_DB_ALIAS]
    cursor = _cursor(connection)
    cursor.execute(sql, [each if type(each) in _AS_THEY_ARE else _adapted(each, connection) for each in values])
    return cursor


def _cursor(connection: Any) -> Any:
    """In a transaction, the same cursor for all statements: to open one and close it takes as much as to execute a statement. Outside, the
    connection may be dead or closed, which Django finds out as it opens one."""
    if not connection.in_atomic_block or connection.force_debug_cursor:
        return connection.cursor()
    opened, cursor = connection.__dict__.get(_CURSOR, (None, None))
    if cursor is None or opened is not connection.connection:
        cursor = connection.cursor()
        if connection.vendor == "sqlite":
            cursor.cursor = connection.connection.cursor(_SQLiteCursor)
        connection.__dict__[_CURSOR] = (connection.connection, cursor)
    return cursor


_CURSOR = "cursor_of_statements"


class _SQLiteCursor(sqlite3.Cursor):
    """Takes the marks of the other drivers, as Django's, which converts them with each statement."""

    def execute(self, sql: str, values: Any = ()) -> Self:
        return super().execute(_with_marks(sql), values)


@lru_cache(1000)
def _with_marks(sql: str) -> str:
    return sql.replace("%s", "?").replace("%%", "%")


def _adapted(value: object, connection: Any) -> object:
    """The value as the database's driver takes it. SQLite's knows neither keys nor times."""
    match value:
        case UUID() | date() if connection.features.has_native_uuid_field:
            return value
        case UUID():
            return f"{value.int:032x}"
        case str():  # an enumeration, or text of a kind
            return str.__str__(value)
        case int():
            return int(value)
        case datetime():
            return str(value.astimezone(UTC).replace(tzinfo=None))
        case date():
            return str(value)
        case dict() | list() | tuple():
            return connection.ops.adapt_json_value(value, None)
    return value
