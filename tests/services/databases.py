"""Databases of our own on the PostgreSQL server that CHATUI_TEST_DATABASE_URL names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg


@contextmanager
def own_database() -> Iterator[str]:
    """The address of a new database, which is gone afterwards, whoever still uses it."""
    address = os.environ["CHATUI_TEST_DATABASE_URL"]
    name = f"chatui_test_{uuid4().hex[:10]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield urlunsplit(urlsplit(address)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
