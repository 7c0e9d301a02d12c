"""The branch of a conversation that a person has open."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.conversation import Conversation


class ActiveLeaf(models.Model):
    """The last message of the branch that ``person`` has open. Without a row, they have not opened any yet."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="active_leaves", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    message = models.ForeignKey("chatui.Message", on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation", "person"], name="one_active_leaf_per_person")]

    def __str__(self) -> str:
        return f"Active leaf of {self.conversation_id}"
