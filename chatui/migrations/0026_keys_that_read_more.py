from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatui", "0025_tool_approvals")]

    operations = [
        migrations.AddField(
            "apikey", "views_hidden", models.BooleanField(db_default=False, default=False, verbose_name="reads raw reasoning")
        ),
        migrations.AddField(
            "apikey", "reads_all", models.BooleanField(db_default=False, default=False, verbose_name="reads what other keys asked for")
        ),
        migrations.AddField(
            "apikey", "made_by_name", models.CharField(blank=True, db_default="", default="", max_length=150, verbose_name="made by")
        ),
    ]
