"""The permission's name says that it is for saved prompts, too. Django names a permission once, when it creates it."""

from typing import Any

from django.db import migrations

OLD, NEW = "Can offer assistants to groups", "Can offer assistants and saved prompts to groups"


def rename(apps: Any, schema_editor: Any) -> None:
    apps.get_model("auth", "Permission").objects.filter(codename="offer_assistants", name=OLD).update(name=NEW)


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("chatui", "0088_offered_assistants"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="assistant",
            options={"default_permissions": (), "permissions": [("offer_assistants", NEW)]},
        ),
        migrations.RunPython(rename, migrations.RunPython.noop),
    ]
