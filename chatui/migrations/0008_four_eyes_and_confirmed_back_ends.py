"""Who made or changed whose account, one-time links for passwords, and back ends that wait to be confirmed.

What the audit log tells of the time before is taken over, as far as its names still mean somebody.
"""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

import chatui.models.keys

_ACCOUNTS = ("account created", "account changed", "account deleted")
_BACK_ENDS = ("back end created", "back end changed")
_SEES_HIDDEN = ("chatui", "view_hidden_channels")


def take_over_changes(apps: Any, schema_editor: Any) -> None:
    """Rows for the lines of the log about accounts that are still there."""
    events, changes = apps.get_model("chatui", "AuditEvent"), apps.get_model("chatui", "AccountChange")
    keys = dict(apps.get_model("chatui", "User").objects.values_list("username", "pk"))
    lines = events.objects.filter(action__in=_ACCOUNTS).exclude(actor_id=None).values_list("actor_id", "owner_name", "action", "detail", "at")
    for actor, name, action, detail, at in lines.iterator():
        if name in keys and keys[name] != actor:
            row = changes.objects.create(changer_id=actor, changed_id=keys[name], what=f"{action}: {detail}"[:200])
            changes.objects.filter(pk=row.pk).update(at=at)


def take_back_confirmation(apps: Any, schema_editor: Any) -> None:
    """A back end whose last change was made by somebody who may not see hidden channels waits for somebody who may."""
    events, users = apps.get_model("chatui", "AuditEvent"), apps.get_model("chatui", "User")
    permissions = apps.get_model("auth", "Permission").objects
    app, codename = _SEES_HIDDEN
    sees = permissions.filter(content_type__app_label=app, codename=codename)
    trusted = set(
        users.objects.filter(Q(is_superuser=True) | Q(user_permissions__in=sees) | Q(groups__permissions__in=sees)).values_list("pk", flat=True)
    )
    for row in apps.get_model("chatui", "StoredBackend").objects.all():
        last = events.objects.filter(action__in=_BACK_ENDS, owner_name=row.name).order_by("-number").values_list("actor_id", "actor_name").first()
        if last is not None and last[0] not in trusted:
            row.unconfirmed_by = last[1] or "somebody"
            row.save(update_fields=["unconfirmed_by"])


class Migration(migrations.Migration):
    dependencies = [("auth", "0012_alter_user_first_name_max_length"), ("chatui", "0007_names_that_look_alike")]

    operations = [
        migrations.CreateModel(
            name="AccountChange",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("changer_id", models.UUIDField()),
                ("changed_id", models.UUIDField()),
                ("what", models.CharField(max_length=200)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={"default_permissions": ()},
        ),
        migrations.AddIndex("accountchange", models.Index(fields=["changer_id", "at"], name="account_change_by_changer")),
        migrations.CreateModel(
            name="PasswordLink",
            fields=[
                ("id", models.UUIDField(default=chatui.models.keys.new_key, editable=False, primary_key=True, serialize=False)),
                ("made_by_name", models.CharField(max_length=150)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                ("used_from", models.CharField(blank=True, max_length=64)),
                ("dismissed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="password_links", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"default_permissions": ()},
        ),
        migrations.AddField(
            "storedbackend",
            "unconfirmed_by",
            models.CharField(blank=True, default="", editable=False, max_length=150, verbose_name="unconfirmed change by"),
            preserve_default=False,
        ),
        migrations.RunPython(take_over_changes, migrations.RunPython.noop),
        migrations.RunPython(take_back_confirmation, migrations.RunPython.noop),
    ]
