"""What is repeated after a line of the audit log is counted, until another line sums it up."""

from django.db import migrations, models

import chatui.models.keys


class Migration(migrations.Migration):
    dependencies = [("chatui", "0011_problems_by_code")]

    operations = [
        migrations.CreateModel(
            name="CountedLine",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("line", models.PositiveBigIntegerField(unique=True)),
                ("sum_line", models.PositiveBigIntegerField(null=True, unique=True)),
                ("key", models.CharField(max_length=200, null=True, unique=True)),
                ("person_id", models.UUIDField(null=True)),
                ("counts", models.JSONField(default=dict)),
                ("networks", models.JSONField(default=list)),
                ("last_at", models.DateTimeField(null=True)),
                ("ends_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["sum_line", "ends_at"], name="counted_line_open"),
                    models.Index(fields=["person_id", "key"], name="counted_line_by_person"),
                ],
            },
        ),
    ]
