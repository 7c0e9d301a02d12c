"""Where lines of summaries come from: built-in code in new rows. The review by a model is gone.

Its column stays in the database for this release: processes of the release before, which read it, go on while one after another is
restarted (docs/operating.md, *Upgrade*).
"""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def forget_reviewers(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Empty the summarizer of a server that writes its own summaries: it reviewed them, and would now make the row invalid."""
    rows = apps.get_model("chatui", "StoredBackend")._default_manager.using(schema_editor.connection.alias)
    rows.filter(summaries="server").exclude(summarizer="").update(summarizer="")


class Migration(migrations.Migration):

    dependencies = [
        ("chatui", "0055_summary_lines"),
    ]

    operations = [
        migrations.RunPython(forget_reviewers, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(
                    model_name="storedbackend",
                    name="summary_review",
                ),
            ],
        ),
        migrations.AlterField(
            model_name="storedbackend",
            name="summaries",
            field=models.CharField(
                choices=[
                    ("built-in", "Built in: the product reads the reasoning"),
                    ("model", "The summarizer, which is sent the reasoning"),
                    ("server", "Headings of the summaries that this server writes"),
                    ("none", "None"),
                ],
                default="built-in",
                max_length=8,
            ),
        ),
        migrations.AlterField(
            model_name="storedbackend",
            name="summarizer",
            field=models.CharField(
                blank=True,
                help_text="The back end that is asked, such as small or small/model.",
                max_length=260,
                verbose_name="summarizer",
            ),
        ),
    ]
