"""The explicit opt-in of a member of staff to see the hidden channels of one conversation."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.conversation import Conversation
from chatui.models.keys import new_key


class DebugOpening(models.Model):
    """Open from ``opened_at`` until ``closed_at`` or ``expires_at``, whichever comes first."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="debug_openings")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=500, blank=True)
    opened_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"Debug opening {self.id}"
