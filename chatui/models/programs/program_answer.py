"""The additional data of a turn that a program requested through the API."""

from __future__ import annotations

from django.db import models

from chatui.models.keys import new_key
from chatui.models.programs.api_key import ApiKey
from chatui.models.turn import Turn


class ProgramAnswer(models.Model):
    """An answer to a program. ``key`` is the API key of the request. Without ``is_kept`` the conversation is erased as soon as the turn has
    ended. ``orders``: the text of the program's system and developer messages, which is sent again in later turns; ``given``: the settings
    of the request, in its API format. Both may contain text that the program wrote.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, related_name="program_answer")
    key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    is_kept = models.BooleanField(default=True, db_default=True)
    orders = models.TextField(blank=True, default="", db_default="")
    given = models.JSONField(default=dict)

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["id"], name="program_answer_to_erase", condition=models.Q(is_kept=False))]

    def __str__(self) -> str:
        return f"Answer {self.id} to a program"
