"""Counts rows and reads lines directly in a deployment's database: a management command would take seconds to start."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps

_BUSY_SECONDS = 60


def counts(environment: Mapping[str, str]) -> dict[str, int]:
    """The number of rows of each table, by model name. Of counted lines only those without a total in the audit log are included.

    ``environment``: the deployment's, which says where its database is.
    """
    found: dict[str, int] = {}
    with closing(_connection(environment)) as connection:
        for model in apps.get_models(include_auto_created=True):
            table = model._meta.db_table
            unsummed = ' WHERE "sum_line" IS NULL' if model._meta.label == "chatui.CountedLine" else ""
            [found[model._meta.label]] = connection.execute(f'SELECT count(*) FROM "{table}"{unsummed}').fetchone()
    return found


def audit_lines(environment: Mapping[str, str], action: str, *columns: str) -> list[list[Any]]:
    """These columns of the audit log's lines about one action, in order."""
    query = f"SELECT {', '.join(columns)} FROM chatui_auditevent WHERE action = '{action}' ORDER BY number"
    with closing(_connection(environment)) as connection:
        return [list(row) for row in connection.execute(query).fetchall()]


def _connection(environment: Mapping[str, str]) -> Any:
    url = environment.get("CHATUI_DATABASE_URL", "")
    if url.startswith("postgres"):
        return psycopg.connect(url)
    return sqlite3.connect(Path(environment["CHATUI_DATA_DIR"]) / "chatui.sqlite3", timeout=_BUSY_SECONDS)
