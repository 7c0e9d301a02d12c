"""Imported conversations carry a mark, a lease while they are being written, and the header of their document."""

from typing import Any

from django.db import migrations, models
from django.db.models import F


def mark(apps: Any, schema_editor: Any) -> None:
    """What was imported before is known by its messages: their author cannot be forged."""
    conversations = apps.get_model("chatui", "Conversation").objects
    imported = apps.get_model("chatui", "Message").objects.filter(author="import").values("conversation")
    conversations.filter(pk__in=imported).update(imported_at=F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("chatui", "0008_four_eyes_and_confirmed_back_ends")]

    operations = [
        migrations.AddField(model_name="conversation", name="imported_at", field=models.DateTimeField(blank=True, null=True)),
        migrations.AddField(model_name="conversation", name="unfinished_until", field=models.DateTimeField(blank=True, null=True)),
        migrations.AddField(model_name="conversation", name="document_header", field=models.TextField(blank=True)),
        migrations.AddField(model_name="conversation", name="sampled_with", field=models.JSONField(blank=True, null=True)),
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
