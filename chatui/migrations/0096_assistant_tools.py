"""The tools that are on where a conversation begins with an assistant; null for those that the person would have."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatui", "0093_asked_collections")]

    operations = [
        migrations.AddField(model_name="assistantversion", name="tools", field=models.JSONField(blank=True, null=True)),
    ]
