"""What can be found of one visible message, or of a title that somebody gave: its words, and nothing that is hidden."""

from __future__ import annotations

from django.db import models

from chatui.models.conversation import Conversation


class SearchEntry(models.Model):
    """``terms`` are the words, each with the owner's own beginning, with spaces between them. Without ``message``: those of the title.

    The index over ``terms`` is the database's own and made by a migration; rows are written by ``chatui.store.search_index`` alone.
    """

    id = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    message = models.OneToOneField("chatui.Message", on_delete=models.CASCADE, null=True, related_name="+")
    terms = models.TextField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["conversation"], condition=models.Q(message=None), name="one_search_entry_per_title"),
        ]

    def __str__(self) -> str:
        return f"Search entry {self.id}"
