from typing import Any

import django.db.models.deletion
from django.db import migrations, models

from chatui.models.keys import new_key
from renderer.errors import OpenChatMLError
from renderer.frames import Frame
from renderer.ocml import document


def checkpoints_to_pieces(apps: Any, schema_editor: Any) -> None:
    """What a process that died before the migration has saved of an open frame becomes its first piece."""
    Turn, TurnPiece = apps.get_model("chatui", "Turn"), apps.get_model("chatui", "TurnPiece")
    for turn in Turn.objects.filter(state="running").exclude(checkpoint="").only("checkpoint"):
        try:
            frame = document.parse_frame(turn.checkpoint)
            header = document.dump_frame(Frame(frame.header, ""))
        except OpenChatMLError:
            continue  # nobody could have read it before, either
        TurnPiece.objects.create(turn=turn, number=1, frame=new_key(), header=header, text=frame.body)


class Migration(migrations.Migration):

    dependencies = [
        ("chatui", "0009_imports"),
    ]

    operations = [
        migrations.CreateModel(
            name="TurnPiece",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("frame", models.UUIDField()),
                ("header", models.TextField(blank=True)),
                ("text", models.TextField(blank=True)),
                ("turn", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="pieces", to="chatui.turn")),
            ],
        ),
        migrations.AddConstraint(
            model_name="turnpiece",
            constraint=models.UniqueConstraint(fields=("turn", "number"), name="one_piece_per_number"),
        ),
        migrations.AddField(
            model_name="turn",
            name="stop_requested",
            field=models.BooleanField(default=False),
        ),
        migrations.RunPython(checkpoints_to_pieces, migrations.RunPython.noop),
        migrations.RemoveField(
            model_name="turn",
            name="checkpoint",
        ),
    ]
