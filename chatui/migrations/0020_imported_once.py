from __future__ import annotations

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def forget_keys_of_copies(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Where one export was imported twice, only the oldest conversation keeps the key by which it is known."""
    conversations = apps.get_model("chatui", "Conversation").objects.using(editor.connection.alias)
    seen: set[tuple[int, str]] = set()
    imported = conversations.filter(deleted_at=None).exclude(import_key="").order_by("imported_at", "pk")
    for pk, owner, key in imported.values_list("pk", "owner_id", "import_key").iterator():
        if (owner, key) in seen:
            conversations.filter(pk=pk).update(import_key="")
        seen.add((owner, key))


class Migration(migrations.Migration):
    """A person has each conversation of an export once, also when two uploads of it end at the same moment."""

    dependencies = [("chatui", "0019_language")]

    operations = [
        migrations.RunPython(forget_keys_of_copies, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            "conversation",
            models.UniqueConstraint(
                fields=["owner", "import_key"],
                condition=models.Q(("deleted_at", None), models.Q(("import_key", ""), _negated=True)),
                name="conversation_imported_once",
            ),
        ),
    ]
