"""An ask is kept once for each person, in whatever conversation; the message that a turn continues gets its name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatui", "0004_debug_request")]

    operations = [
        migrations.RenameField(model_name="turn", old_name="continues", new_name="continued_message"),
        migrations.RemoveConstraint(model_name="turn", name="one_turn_per_client_id"),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.UniqueConstraint(fields=["asked_by", "client_id"], name="one_turn_per_ask"),
        ),
    ]
