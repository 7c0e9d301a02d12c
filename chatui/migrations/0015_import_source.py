from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """An imported conversation says which product it was exported from, and can be recognized when it is uploaded again."""

    dependencies = [("chatui", "0014_failed_answers")]

    operations = [
        migrations.AddField(
            "conversation",
            "imported_from",
            models.CharField(
                blank=True,
                choices=[("chatgpt", "ChatGPT"), ("open_webui", "Open WebUI"), ("librechat", "LibreChat")],
                db_default="",
                default="",
                max_length=16,
            ),
        ),
        migrations.AddField("conversation", "import_key", models.CharField(blank=True, db_default="", default="", max_length=64)),
    ]
