"""The review of summaries is on where a model writes them, unless it was switched off."""

from typing import Any

from django.db import migrations, models


def unset(apps: Any, schema_editor: Any) -> None:
    """Off was the default, and nobody can be said to have chosen it."""
    apps.get_model("chatui", "StoredBackend").objects.filter(summary_review=False).update(summary_review=None)


def switch_off(apps: Any, schema_editor: Any) -> None:
    """What is unset was off."""
    apps.get_model("chatui", "StoredBackend").objects.filter(summary_review=None).update(summary_review=False)


class Migration(migrations.Migration):
    dependencies = [("chatui", "0005_one_turn_per_ask")]

    operations = [
        migrations.AlterField(
            model_name="storedbackend",
            name="summary_review",
            field=models.BooleanField(
                blank=True,
                default=None,
                help_text="Whether a model reviews a summary before people see it; unset: where a model writes it.",
                null=True,
            ),
        ),
        migrations.RunPython(unset, switch_off),
    ]
