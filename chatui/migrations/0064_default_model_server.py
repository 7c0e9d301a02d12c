"""One model server is the default for new conversations, by choice. Until now it was the first: that one stays it."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from chatui.env import environment


def keep_the_first(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    env = environment()
    if env.backends_file is not None or env.backend_url:
        return  # the operator's own is the default, and was
    rows = apps.get_model("chatui", "StoredBackend").objects.using(schema_editor.connection.alias)
    first = rows.filter(is_enabled=True, unconfirmed_by="").order_by("position", "name").first()
    if first is not None:
        rows.filter(pk=first.pk).update(is_default=True)


class Migration(migrations.Migration):
    dependencies = [("chatui", "0063_state_words")]

    operations = [
        migrations.AddField(
            "storedbackend",
            "is_default",
            models.BooleanField("default for new conversations", default=False, db_default=False),
        ),
        migrations.RunPython(keep_the_first, migrations.RunPython.noop),
        migrations.AddConstraint(
            "storedbackend",
            models.UniqueConstraint(fields=["is_default"], condition=models.Q(is_default=True), name="one_default_model_server"),
        ),
    ]
