"""A key names a third format. Keys that may use both formats so far were limited to none, and may use it too."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def _allow(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("chatui", "ApiKey").objects.filter(for_responses=True, for_chat=True).update(for_messages=True)


class Migration(migrations.Migration):
    dependencies = [("chatui", "0075_more_imports")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="for_messages",
            field=models.BooleanField(db_default=False, default=False, verbose_name="may use Messages"),
        ),
        migrations.RunPython(_allow, migrations.RunPython.noop, elidable=True),
        migrations.RemoveConstraint(model_name="apikey", name="api_key_speaks_a_format"),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("for_responses", True), ("for_chat", True), ("for_messages", True), _connector="OR"),
                name="api_key_speaks_a_format",
            ),
        ),
    ]
