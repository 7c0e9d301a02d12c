"""A picture of an assistant, instead of its initials."""

import django.db.models.deletion
from django.db import migrations, models

from chatui.models.keys import new_key


class Migration(migrations.Migration):
    dependencies = [("chatui", "0101_assistant_collections")]

    operations = [
        migrations.CreateModel(
            name="AssistantPicture",
            fields=[
                ("id", models.UUIDField(default=new_key, editable=False, primary_key=True, serialize=False)),
                ("data", models.BinaryField()),
                (
                    "assistant",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="pictures", to="chatui.assistant"),
                ),
            ],
            options={"abstract": False, "default_permissions": ()},
        ),
        migrations.AddField(
            model_name="assistantversion",
            name="picture",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="versions",
                to="chatui.assistantpicture",
            ),
        ),
    ]
