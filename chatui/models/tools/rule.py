"""A person's rule for a tool in one conversation: it runs without asking, or it is off."""

from __future__ import annotations

from django.db import models

from chatui.models.conversation import Conversation
from chatui.models.keys import new_key


class ToolRule(models.Model):
    """A person's rule for a tool.

    ``is_allowed`` False: the tool is switched off. ``fingerprint``: that of the tool when it was allowed; a changed tool needs approval
    again.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="tool_rules")
    tool = models.CharField(max_length=64)
    is_allowed = models.BooleanField()
    fingerprint = models.CharField(max_length=32, blank=True, default="", db_default="")

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["conversation", "tool"], name="one_rule_per_tool")]

    def __str__(self) -> str:
        return f"Tool rule {self.id}"
