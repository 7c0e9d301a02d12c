"""Copies of shared conversations say that they are copies, those made before as well: their key says so."""

from typing import Any

from django.db import migrations, models

SOURCES = [
    ("chatgpt", "ChatGPT"),
    ("open_webui", "Open WebUI"),
    ("librechat", "LibreChat"),
    ("claude", "Claude"),
    ("deepseek", "DeepSeek"),
    ("shared", "shared conversation"),
]


def mark_copies(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("chatui", "Conversation").objects.filter(imported_from="", import_key__startswith="copy ")
    rows.update(imported_from="shared")


class Migration(migrations.Migration):
    dependencies = [("chatui", "0096_assistant_tools")]

    operations = [
        migrations.AlterField(
            model_name="conversation",
            name="imported_from",
            field=models.CharField(blank=True, choices=SOURCES, db_default="", default="", max_length=16),
        ),
        migrations.RunPython(mark_copies, migrations.RunPython.noop),
    ]
