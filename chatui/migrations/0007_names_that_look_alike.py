"""No two accounts may have names that look alike: what each name looks like gets unique columns."""

from collections import defaultdict
from typing import Any

from django.core.management.base import CommandError
from django.db import migrations

import chatui.models.user
from django.db import models

from chatui.skeletons import folded_skeleton, skeleton


def fill(apps: Any, schema_editor: Any) -> None:
    """Both columns of every account. Names that look alike are said, all of them, before anything is changed."""
    users = apps.get_model("chatui", "User").objects.all()
    alike: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for name in users.values_list("username", flat=True).iterator():
        alike["skeleton", skeleton(name)].add(name)
        alike["folded", folded_skeleton(name)].add(name)
    groups = sorted({tuple(sorted(names)) for names in alike.values() if len(names) > 1})
    if groups:
        said = "; ".join(" and ".join(ascii(name) if not name.isascii() else repr(name) for name in names) for names in groups)
        raise CommandError(
            f"These accounts have names that look alike: {said}. Go back to the version that ran before, rename all but one of each in its "
            "admin pages, and start this one again. Nothing was changed."
        )
    for user in users.only("pk", "username").iterator():
        looks = {"name_skeleton": skeleton(user.username), "folded_name_skeleton": folded_skeleton(user.username)}
        users.filter(pk=user.pk).update(**looks)


class Migration(migrations.Migration):
    dependencies = [("chatui", "0006_summary_review")]

    operations = [
        migrations.AlterModelManagers(name="user", managers=[]),
        migrations.AddField("user", "name_skeleton", models.TextField(default="", editable=False), preserve_default=False),
        migrations.AddField("user", "folded_name_skeleton", models.TextField(default="", editable=False), preserve_default=False),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField("user", "name_skeleton", chatui.models.user.SkeletonField()),
        migrations.AlterField("user", "folded_name_skeleton", chatui.models.user.SkeletonField()),
    ]
