"""An index of the frames that have a problem, which the metrics count by code."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chatui", "0010_turn_pieces")]

    operations = [
        migrations.AddIndex(
            model_name="message",
            index=models.Index(condition=~models.Q(error_code=""), fields=["error_code"], name="messages_with_a_problem"),
        ),
    ]
