"""One row of the search index: the words of a visible message, or of a title. Contains nothing hidden."""

from __future__ import annotations

from django.db import models

from chatui.models.conversation import Conversation


class SearchEntry(models.Model):
    """A row of the search index. ``terms`` holds the words, separated by spaces, each with the owner's prefix. Without a ``message`` they
    are the words of the title.

    The database's full-text index over ``terms`` is created by a migration. Only ``chatui.store.search_index`` writes rows.
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
