from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatui", "0095_offer_prompts")]

    operations = [
        migrations.AddField(model_name="usagecount", name="since", field=models.BigIntegerField(db_default=0, default=0)),
    ]
