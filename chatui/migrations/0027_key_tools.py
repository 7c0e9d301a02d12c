from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chatui", "0026_keys_that_read_more"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="tools",
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list),
        ),
    ]
