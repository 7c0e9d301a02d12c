"""How long the model server of a turn took to write something. Failed answers have a page of their own, so their proxy goes."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatui', '0058_limits_of_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='turn',
            name='first_token_ms',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name='FailedAnswer')]),
    ]
