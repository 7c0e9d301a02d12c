"""Which rows of the search indexes are without the parts of words that a search finds now: all that exist. ``chatui reindex`` adds them."""

from typing import Any

from django.db import migrations, models

NEWEST = 2**63 - 1


def begin(apps: Any, schema_editor: Any) -> None:
    """Old processes may add rows until the new ones have begun, so the first step of the work sees how many there are."""
    for index, table in (("messages", "SearchEntry"), ("passages", "DocumentPassage")):
        if apps.get_model("chatui", table).objects.exists():
            apps.get_model("chatui", "Reindexing").objects.create(index=index, below=NEWEST)


class Migration(migrations.Migration):
    dependencies = [("chatui", "0090_counts_under_limits")]

    operations = [
        migrations.CreateModel(
            name="Reindexing",
            fields=[
                ("index", models.CharField(max_length=16, primary_key=True, serialize=False)),
                ("below", models.BigIntegerField()),
            ],
            options={"abstract": False, "default_permissions": ()},
        ),
        migrations.RunPython(begin, migrations.RunPython.noop),
    ]
