"""The index over the words of search entries: FTS5 on SQLite, GIN on PostgreSQL. The database keeps it, row by row."""

from __future__ import annotations

from typing import Any

from django.db import migrations

# ``ascii`` cuts at spaces and leaves every other script as it is: the words were folded before they came here. Positions and sizes
# are never asked for. The triggers keep the index and the table alike, also where rows go because something else was deleted.
SQLITE = (
    "CREATE VIRTUAL TABLE chatui_words USING fts5"
    "(terms, content='chatui_searchentry', content_rowid='id', tokenize='ascii', detail='none', columnsize=0)",
    "CREATE TRIGGER chatui_words_added AFTER INSERT ON chatui_searchentry BEGIN "
    "INSERT INTO chatui_words(rowid, terms) VALUES (new.id, new.terms); END",
    "CREATE TRIGGER chatui_words_removed AFTER DELETE ON chatui_searchentry BEGIN "
    "INSERT INTO chatui_words(chatui_words, rowid, terms) VALUES ('delete', old.id, old.terms); END",
    "CREATE TRIGGER chatui_words_changed AFTER UPDATE ON chatui_searchentry BEGIN "
    "INSERT INTO chatui_words(chatui_words, rowid, terms) VALUES ('delete', old.id, old.terms); "
    "INSERT INTO chatui_words(rowid, terms) VALUES (new.id, new.terms); END",
)
SQLITE_BACK = (
    "DROP TRIGGER chatui_words_added",
    "DROP TRIGGER chatui_words_removed",
    "DROP TRIGGER chatui_words_changed",
    "DROP TABLE chatui_words",
)
# No parser of PostgreSQL's takes part either: each word between two spaces is one lexeme. The words themselves are kept beside the
# rows, which a search that finds thousands of rows does not read.
POSTGRESQL = (
    "ALTER TABLE chatui_searchentry SET (toast_tuple_target = 128)",
    "CREATE INDEX chatui_words ON chatui_searchentry USING gin (array_to_tsvector(string_to_array(terms, ' ')))",
)
POSTGRESQL_BACK = ("DROP INDEX chatui_words",)


def make(apps: Any, schema_editor: Any) -> None:
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def unmake(apps: Any, schema_editor: Any) -> None:
    for statement in SQLITE_BACK if schema_editor.connection.vendor == "sqlite" else POSTGRESQL_BACK:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("chatui", "0001_initial")]

    operations = [migrations.RunPython(make, unmake)]
