"""What is hidden in a file and was left out of its text."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the column. A process of the release before leaves it out of its rows."""

    dependencies = [("chatui", "0001_squashed_0051_ends_of_frames")]

    operations = [
        migrations.AddField("documenttext", "left_out", models.TextField(blank=True, db_default="", default="")),
    ]
