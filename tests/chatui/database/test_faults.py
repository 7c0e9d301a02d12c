"""Which states of a database are temporary, by what it says: SQLSTATEs of PostgreSQL and result codes of SQLite."""

import asyncio
import sqlite3
import threading

import psycopg
import pytest
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
    connection,
    transaction,
)
from django.db.utils import DataError
from psycopg import errors

from chatui.codes import ProductCode
from chatui.database import faults
from chatui.database.connections import ThreadConnection
from chatui.database.writer import Writer
from chatui.models.user import User
from tests.support.cases import for_each

DJANGO = (DataError, OperationalError, IntegrityError, InternalError, ProgrammingError, InterfaceError, DatabaseError)
PERMANENT = (
    *("25P02", "25001", "42P01", "42501", "42601", "54000", "54001", "54023", "23505", "22021", "28P01", "3D000", "57P04", "55000"),
    *("XX000", "XX001", "P0001", "0A000"),
)


def raised_by_postgresql(state: str) -> Exception:
    """The error as Django raises it for what psycopg raises."""
    cause = errors.lookup(state)("SECRET")
    name = next(each.__name__ for each in type(cause).__mro__ if each.__name__ in {kind.__name__ for kind in DJANGO})
    error = next(kind for kind in DJANGO if kind.__name__ == name)("SECRET")
    error.__cause__ = cause
    return error


def raised_by_sqlite(code: int) -> OperationalError:
    cause = sqlite3.OperationalError("SECRET")
    cause.sqlite_errorcode = code
    error = OperationalError("SECRET")
    error.__cause__ = cause
    return error


@for_each(sorted(faults.TEMPORARY_STATES))
def test_a_temporary_state_of_postgresql_is_an_outage(state: str) -> None:
    error = raised_by_postgresql(state)
    assert faults.is_transient(error) and isinstance(error, faults.FAULTS), type(error)
    assert faults.busy_error(error).code == (ProductCode.STORAGE_FULL if state == "53100" else ProductCode.SERVER_BUSY)


def test_a_failover_is_not_what_its_class_says() -> None:
    for state in ("25006", "25P03", "25P04"):
        assert type(raised_by_postgresql(state)) is InternalError, "the premise"
    assert type(raised_by_postgresql("54001")) is OperationalError, "the premise"


@for_each(PERMANENT)
def test_what_never_gets_better_is_none(state: str) -> None:
    assert not faults.is_transient(raised_by_postgresql(state))


@for_each([*faults.TEMPORARY_CODES, sqlite3.SQLITE_READONLY_DBMOVED, sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_IOERR_WRITE])
def test_a_temporary_state_of_sqlite_is_an_outage(code: int) -> None:
    assert faults.is_transient(raised_by_sqlite(code))


@for_each([sqlite3.SQLITE_ERROR, sqlite3.SQLITE_ERROR_MISSING_COLLSEQ, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_TOOBIG])
def test_invalid_sql_and_a_damaged_file_are_none(code: int) -> None:
    assert not faults.is_transient(raised_by_sqlite(code))


def test_a_database_that_says_nothing_is_away() -> None:
    away = OperationalError("SECRET")
    away.__cause__ = psycopg.OperationalError("connection refused")
    for error in (away, OperationalError("the deadline has passed"), InterfaceError("connection already closed")):
        assert faults.is_transient(error)
    for other in (InternalError("SECRET"), ValueError("SECRET"), IntegrityError("SECRET")):
        assert not faults.is_transient(other)


@pytest.mark.django_db
def test_text_that_is_damaged_is_no_outage_and_is_not_said() -> None:
    with pytest.raises(OperationalError) as damaged, connection.cursor() as cursor:
        cursor.execute("SELECT CAST(X'534543524554ff' AS TEXT) AS body")
        cursor.fetchall()
    assert "SECRET" in str(damaged.value), "the premise"
    assert not faults.is_transient(damaged.value)
    assert "not UTF-8" in faults.explained(damaged.value) and "SECRET" not in faults.explained(damaged.value)


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
async def test_what_is_written_while_the_server_is_read_only_waits_until_it_is_not() -> None:
    """A failover: InternalError, as psycopg and Django class it."""
    attempts: list[str] = []

    def write() -> str:
        attempts.append("x")
        if len(attempts) < 4:
            raise raised_by_postgresql("25006")
        return "stored"

    def broken() -> None:
        raise raised_by_postgresql("25P02")

    writer = Writer()
    assert await asyncio.wait_for(writer.run(write), 30) == "stored" and len(attempts) == 4
    with pytest.raises(InternalError):
        await asyncio.wait_for(writer.run(broken), 30)


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_found_itself_read_only_is_closed_and_the_next_one_writes() -> None:
    found: list[object] = []

    def work() -> None:
        kept = ThreadConnection(lock_seconds=1, statement_seconds=1)
        try:
            with kept.ready():
                User.objects.create(username="first")
                opened = kept.wrapper.connection
            with kept.ready():
                assert kept.wrapper.connection is opened, "the premise: it is kept"
                opened.execute("PRAGMA query_only = ON")  # as a file that may not be written
                with pytest.raises(OperationalError) as caught, transaction.atomic():
                    User.objects.create(username="lost")
            found.append((faults.is_transient(caught.value), faults.is_read_only(caught.value)))
            with kept.ready():
                User.objects.create(username="second")
            found.append(kept.wrapper.connection is not opened)
        finally:
            kept.wrapper.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(True, True), True] and set(User.objects.values_list("username", flat=True)) == {"first", "second"}
