"""The table of debug requests gets the name that people use for it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatui", "0003_audit_append_only")]

    operations = [
        migrations.RenameModel(old_name="DebugOpening", new_name="DebugRequest"),
        migrations.RenameIndex(model_name="debugrequest", new_name="debug_request_by_conversation", old_name="opening_by_conversation"),
        migrations.AlterField(
            model_name="debugrequest",
            name="conversation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="debug_requests", to="chatui.conversation"
            ),
        ),
    ]
