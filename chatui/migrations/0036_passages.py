"""The passages of documents, and the index over their words: FTS5 on SQLite, GIN on PostgreSQL, as it is over messages."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

SQLITE = (
    "CREATE VIRTUAL TABLE chatui_passages USING fts5"
    "(terms, content='chatui_documentpassage', content_rowid='id', tokenize='ascii', detail='none', columnsize=0)",
    "CREATE TRIGGER chatui_passages_added AFTER INSERT ON chatui_documentpassage BEGIN "
    "INSERT INTO chatui_passages(rowid, terms) VALUES (new.id, new.terms); END",
    "CREATE TRIGGER chatui_passages_removed AFTER DELETE ON chatui_documentpassage BEGIN "
    "INSERT INTO chatui_passages(chatui_passages, rowid, terms) VALUES ('delete', old.id, old.terms); END",
    "CREATE TRIGGER chatui_passages_changed AFTER UPDATE ON chatui_documentpassage BEGIN "
    "INSERT INTO chatui_passages(chatui_passages, rowid, terms) VALUES ('delete', old.id, old.terms); "
    "INSERT INTO chatui_passages(rowid, terms) VALUES (new.id, new.terms); END",
)
SQLITE_BACK = (
    "DROP TRIGGER chatui_passages_added",
    "DROP TRIGGER chatui_passages_removed",
    "DROP TRIGGER chatui_passages_changed",
    "DROP TABLE chatui_passages",
)
POSTGRESQL = (
    "ALTER TABLE chatui_documentpassage SET (toast_tuple_target = 128)",
    "CREATE INDEX chatui_passages ON chatui_documentpassage USING gin (array_to_tsvector(string_to_array(terms, ' ')))",
)
POSTGRESQL_BACK = ("DROP INDEX chatui_passages",)


def make(apps: Any, schema_editor: Any) -> None:
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def unmake(apps: Any, schema_editor: Any) -> None:
    for statement in SQLITE_BACK if schema_editor.connection.vendor == "sqlite" else POSTGRESQL_BACK:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("chatui", "0035_shared_documents")]

    operations = [
        migrations.CreateModel(
            name="DocumentPassage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("part", models.PositiveIntegerField()),
                ("start", models.PositiveIntegerField()),
                ("length", models.PositiveIntegerField()),
                ("terms", models.TextField()),
                (
                    "content",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chatui.filecontent"),
                ),
            ],
            options={"default_permissions": ()},
        ),
        migrations.AddConstraint(
            model_name="documentpassage",
            constraint=models.UniqueConstraint(fields=["content", "number"], name="one_passage_per_number"),
        ),
        migrations.RunPython(make, unmake),
    ]
