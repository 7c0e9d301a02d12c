"""What an assistant is for, in one line."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatui", "0099_shared_copies")]

    operations = [
        migrations.AddField(
            model_name="assistantversion",
            name="description",
            field=models.CharField(blank=True, db_default="", default="", max_length=160),
        ),
    ]
