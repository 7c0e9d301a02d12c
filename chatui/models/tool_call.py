"""A claim on a tool call: written before the tool runs, so that no call is ever executed twice."""

from __future__ import annotations

from django.db import models

from chatui.models.keys import new_key
from chatui.models.turn import Turn


class ToolCall(models.Model):
    """A claimed tool call. ``call_id`` is that of the call's frame. The tool's reply is a message; a claim without one means that its
    process died. Neither arguments nor replies are stored here: they are hidden, and are in the frames.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+")
    call_id = models.CharField(max_length=128)
    tool = models.CharField(max_length=64)
    claimed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["turn", "call_id"], name="one_claim_per_call")]

    def __str__(self) -> str:
        return f"Tool call {self.id}"
