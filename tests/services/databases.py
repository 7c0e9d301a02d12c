"""Databases of our own on the PostgreSQL server that CHATUI_TEST_DATABASE_URL names."""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

from tests.support.served import Deployment


@contextmanager
def own_database(*, is_empty: bool = False) -> Iterator[str]:
    """The address of a new database, which is gone afterwards, whoever still uses it. It has all tables; ``is_empty``: none."""
    name = _new_name()
    _execute(f'CREATE DATABASE "{name}"' if is_empty else f'CREATE DATABASE "{name}" TEMPLATE "{_template()}"')
    try:
        yield _address(name)
    finally:
        _drop(name)


@cache
def _template() -> str:
    """A database with all tables, made once in each process: to copy it costs a fraction of a migration."""
    name = _new_name()
    _execute(f'CREATE DATABASE "{name}"')
    atexit.register(_drop, name)
    with tempfile.TemporaryDirectory() as place:
        Deployment(Path(place), CHATUI_DATABASE_URL=_address(name)).manage("migrate", "--verbosity", "0")
    return name


def _new_name() -> str:
    return f"chatui_test_{uuid4().hex[:10]}"


def _address(name: str) -> str:
    return urlunsplit(urlsplit(os.environ["CHATUI_TEST_DATABASE_URL"])._replace(path=f"/{name}"))


def _drop(name: str) -> None:
    _execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _execute(statement: str) -> None:
    with psycopg.connect(os.environ["CHATUI_TEST_DATABASE_URL"], autocommit=True) as connection:
        connection.execute(statement)
