"""A web page that a model opened, so that a citation of it still works years later."""

from __future__ import annotations

from django.db import models

from chatui.models.keys import new_key
from chatui.models.turn import Turn


class OpenedPage(models.Model):
    """A page that a model opened. ``cursor``: its number in the conversation, which citations use. ``url``: empty for a list of
    results.

    Hidden like the call that opened it, until an answer cites it. Its text is not stored here: it is in the tool's reply, which is hidden.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+")
    cursor = models.PositiveIntegerField()
    url = models.TextField(blank=True)
    title = models.TextField(blank=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["turn", "cursor"], name="one_page_per_cursor")]

    def __str__(self) -> str:
        return f"Opened page {self.id}"
