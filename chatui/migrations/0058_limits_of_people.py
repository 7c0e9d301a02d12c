"""Limits of single people, beside those of groups and of everybody else."""

import django.db.models.deletion
import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("chatui", "0057_sealed_keys"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="usagelimit",
            name="one_limit_for_everybody",
        ),
        migrations.AddField(
            model_name="usagelimit",
            name="person",
            field=models.OneToOneField(
                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name="usagelimit",
            constraint=models.UniqueConstraint(
                django.db.models.functions.comparison.Coalesce("group_id", models.Value(0), output_field=models.IntegerField()),
                condition=models.Q(("person", None)),
                name="one_limit_for_everybody",
            ),
        ),
        migrations.AddConstraint(
            model_name="usagelimit",
            constraint=models.CheckConstraint(
                condition=models.Q(("group", None), ("person", None), _connector="OR"), name="limit_of_group_or_person"
            ),
        ),
    ]
