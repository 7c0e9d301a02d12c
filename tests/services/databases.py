"""Creates temporary databases on the PostgreSQL server of CHATUI_TEST_DATABASE_URL."""

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
    """The address of a new database, which is dropped afterwards, even while in use. It has all tables, or none if ``is_empty``."""
    name = _new_name()
    _execute(f'CREATE DATABASE "{name}"' if is_empty else f'CREATE DATABASE "{name}" TEMPLATE "{_template()}"')
    try:
        yield _address(name)
    finally:
        _drop(name)


@cache
def _template() -> str:
    """The name of a template database with all tables, created once per process: copying it takes a fraction of a migration."""
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
