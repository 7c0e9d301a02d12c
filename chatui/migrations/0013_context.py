from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """How much a model can read at once, and how much of it a conversation takes."""

    dependencies = [("chatui", "0012_audit_counts")]

    operations = [
        migrations.AddField("turn", "context_size", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField("turn", "context_used", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField(
            "storedbackend", "context_tokens", models.PositiveIntegerField(default=0, help_text="0: the server is asked.")
        ),
    ]
