"""Databases as the last of the separate migrations left them, before these became one; from the files beside this module."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from tests.support.served import Deployment

FIRST = "0001_squashed_0065_separation_proofs"
LAST_STEP = "0065_separation_proofs"
"""The name of the last separate migration."""
_FILL = f"""
from django.db.migrations.loader import MigrationLoader
from tests.upgrades.filling import fill
counts = fill(MigrationLoader(None).project_state([("chatui", "{FIRST}")]).apps)
assert len(counts) > 40 and min(counts.values()) > 0, "an empty table would prove nothing"
"""
_SCHEMA_OF_POSTGRESQL = {
    "columns": "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default, is_identity "
    "FROM information_schema.columns WHERE table_schema = 'public'",
    "options": "SELECT relname, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "constraints": "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = 'public'::regnamespace",
    "triggers": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "functions": "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
}
Schema = dict[str, list[str]]
Rows = dict[str, list[str]]
Query = Callable[[str], list[Any]]


class Database:
    """The SQLite file of a deployment, or its PostgreSQL database, read without Django."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.address = deployment.environment.get("CHATUI_DATABASE_URL", "")
        self.file = Path(deployment.environment["CHATUI_DATA_DIR"]) / "chatui.sqlite3"

    def build(self) -> None:
        """Create the tables of the last separate migration, with rows in each."""
        kind = "postgresql" if self.address else "sqlite"
        text = Path(__file__).with_name(f"before_one_migration.{kind}.sql").read_text(encoding="utf-8")
        if self.address:
            self.query(text)
        else:
            with closing(sqlite3.connect(self.file)) as database:
                database.executescript(text)
        self.deployment.manage("shell", "--no-imports", "--command", _FILL)

    def query(self, statement: str) -> list[Any]:
        """The rows that a statement returns; none if it only changes something."""
        if self.address:
            with psycopg.connect(self.address) as connection:
                found = connection.execute(statement.encode())
                return found.fetchall() if found.description else []
        with closing(sqlite3.connect(self.file)) as database, database:
            return database.execute(statement).fetchall()

    def schema(self) -> Schema:
        """The definition of everything in the database, whatever its order."""
        if self.address:
            return {kind: sorted(map(repr, self.query(statement))) for kind, statement in _SCHEMA_OF_POSTGRESQL.items()}
        found = self.query("SELECT type, name, sql FROM sqlite_master")
        return {kind: sorted(f"{name}: {sql}" for each, name, sql in found if each == kind) for kind in ("table", "index", "trigger")}

    def rows(self) -> Rows:
        """All rows of all tables."""
        tables = (
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            if self.address
            else "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'sqlite_sequence'"
        )
        return {table: sorted(map(repr, self.query(f'SELECT * FROM "{table}"'))) for (table,) in self.query(tables)}
