"""Removes a column that no process has read since 0056. On SQLite it went when that release created the table anew."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def drop_column(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE chatui_storedbackend DROP COLUMN IF EXISTS summary_review")


class Migration(migrations.Migration):
    dependencies = [("chatui", "0001_squashed_0065_separation_proofs")]

    operations = [migrations.RunPython(drop_column, migrations.RunPython.noop)]
