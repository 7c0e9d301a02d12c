from typing import Any

from django.db import migrations, models
from django.db.models import F


def count_bytes(apps: Any, schema_editor: Any) -> None:
    """As many as it has characters, which is not too many."""
    apps.get_model("chatui", "DocumentText").objects.update(bytes=F("characters"))


class Migration(migrations.Migration):

    dependencies = [
        ('chatui', '0040_account_that_goes'),
    ]

    operations = [
        migrations.AddField(
            model_name='documenttext',
            name='bytes',
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='storedfile',
            name='brought_in',
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='user',
            name='finds_documents',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunPython(count_bytes, migrations.RunPython.noop, elidable=True),
    ]
