# Django would copy the whole table on SQLite, for a default that is none of the database's.

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatui', '0050_queued_turns'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='message',
                    name='created_at',
                    field=models.DateTimeField(default=django.utils.timezone.now),
                ),
            ],
        ),
    ]
