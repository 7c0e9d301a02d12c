"""The files of an assistant: collections of its owner."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatui", "0100_assistant_description")]

    operations = [
        migrations.AddField(
            model_name="assistantversion",
            name="collections",
            field=models.ManyToManyField(blank=True, related_name="+", to="chatui.collection"),
        ),
    ]
