"""Copies all rows of a SQLite file into an empty PostgreSQL database, or none, and compares their numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import DatabaseError, connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model
from django.db.models.sql import InsertQuery

from chatui.audit_log import chain
from chatui.audit_log.record import SHELL, record
from chatui.database import file_locks, versions
from chatui.operations import backups
from chatui.operations.backups import BackupError, Counts
from chatui.program import command

ACTION = "database moved"
MADE_BY_MIGRATIONS = (ContentType, Permission)
SOURCE = "moved_from"
"""The alias of the SQLite file in Django's databases while it is read."""
_ROWS = 100
"""The most rows in one statement."""
_BYTES = 8 * 1024 * 1024
"""The approximate size of one statement: a stored request or a document can have megabytes."""
_PRAGMAS = "PRAGMA foreign_keys=ON;"


@dataclass(frozen=True, slots=True)
class Moved:
    """The result."""

    counts: Counts
    rows: dict[str, int]
    """The number of rows by table, the same in both databases."""
    log: chain.ChainReport
    """The verification of the copied audit log."""


def move(source: Path, report_line: Callable[[str], None] = lambda _line: None) -> Moved:
    """Copy all rows of ``source`` into the database of the settings. ``source`` is not changed. Calls ``report_line`` with a line for each
    table.

    Raises:
        BackupError: nothing was copied, for the reason in the message.
    """
    if connection.vendor != "postgresql":
        raise BackupError("CHATUI_DATABASE_URL must name the PostgreSQL database to move to.")
    if not source.is_file():
        raise BackupError(f"{source} does not exist.")
    try:
        # This lock keeps a server from starting on the file, and SQLite's lock in _source_database keeps commands from writing.
        with file_locks.take(source, file_locks.SERVING):
            counts = backups.check(source)
            _check_same_version(source)
            _check_target()
            return _move(source, counts, report_line)
    except file_locks.LockTakenError:
        raise BackupError(f"A server is running on {source.name}. Stop it first.") from None
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{source.name} cannot be read: {error}.") from error


def _check_target() -> None:
    call_command("migrate", verbosity=0)
    full = [model for model in _models() if model not in MADE_BY_MIGRATIONS and model._base_manager.exists()]
    if full:
        raise BackupError(f"The PostgreSQL database already has rows in {full[0]._meta.db_table}. It must be empty.")


def _check_same_version(source: Path) -> None:
    with closing(backups.connect(source)) as database:
        there = {(str(app), str(name)) for app, name in database.execute("SELECT app, name FROM django_migrations")}
    here = set(MigrationLoader(connection).disk_migrations)
    if newer := versions.unknown(there):
        raise BackupError(f"{source.name} was written by a newer version of the product (it has {newer[-1]}).")
    if older := sorted(name for app, name in here - there if app == "chatui"):
        raise BackupError(f"{source.name} was written by an older version (it lacks {older[0]}). Run {command('migrate')} on it first.")


def _move(source: Path, counts: Counts, report_line: Callable[[str], None]) -> Moved:
    with _source_database(source), transaction.atomic():
        models = _models()
        for made in reversed(MADE_BY_MIGRATIONS):  # the source has these rows, too, perhaps with other keys
            made._base_manager.all()._raw_delete(connection.alias)
        rows = {}
        for model in models:
            rows[model._meta.db_table] = _copy(model)
            report_line(f"{rows[model._meta.db_table]:>9,} {model._meta.db_table}")
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), models):
                cursor.execute(statement)
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a dangling reference raises here, not only at the commit
        ContentType.objects.clear_cache()
        log = chain.verify()
        record(ACTION, SHELL, detail="from SQLite to PostgreSQL")
    return Moved(counts, rows, log)


def _models() -> list[type[Model]]:
    """The models, one for each table."""
    return [model for model in apps.get_models(include_auto_created=True) if model._meta.managed and not model._meta.proxy]


@contextmanager
def _source_database(source: Path) -> Iterator[None]:
    """Within this context, the file is Django's database ``SOURCE``, in one read transaction that also keeps others from writing."""
    options = {"transaction_mode": "IMMEDIATE", "timeout": 5, "init_command": _PRAGMAS}
    settings: dict[str, Any] = deepcopy(connection.settings_dict)
    connections.databases[SOURCE] = settings | {"ENGINE": "django.db.backends.sqlite3", "NAME": str(source), "OPTIONS": options}
    try:
        with transaction.atomic(using=SOURCE):
            yield
    except DatabaseError as error:
        raise BackupError(f"A database reported an error ({type(error).__name__}). Nothing was moved.") from error
    finally:
        connections[SOURCE].close()
        del connections[SOURCE]
        del connections.databases[SOURCE]


def _copy(model: type[Model]) -> int:
    """Copy all rows of one table unchanged, without setting defaults or modification times again. Returns the number of rows."""
    fields = [field for field in model._meta.local_concrete_fields if not field.generated]
    source_rows = model._base_manager.using(SOURCE).order_by("pk")
    for batch in _batches(source_rows.iterator(chunk_size=1), [field.attname for field in fields]):
        try:
            query = InsertQuery(model)
            query.insert_values(fields, batch, raw=True)  # bulk_create would set the creation times again
            query.get_compiler(connection=connection).execute_sql()
        except (DatabaseError, ValueError) as error:
            # Only its type: the message of the error quotes the row.
            which = f"{model._meta.db_table} with keys from {batch[0].pk} to {batch[-1].pk}"
            raise BackupError(f"A row of {which} cannot be stored ({type(error).__name__}). Nothing was moved.") from None
    count, copied = source_rows.count(), model._base_manager.count()
    if count != copied:
        raise BackupError(f"Only {copied} of {count} rows of {model._meta.db_table} were copied. Nothing was moved.")
    return count


def _batches(rows: Iterable[Model], names: Sequence[str]) -> Iterator[list[Model]]:
    """Split rows into batches that do not take too much memory."""
    batch: list[Model] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for name in names if isinstance(value := getattr(row, name), str | bytes | memoryview))
        if len(batch) == _ROWS or size > _BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
