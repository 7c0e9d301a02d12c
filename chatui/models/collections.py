"""Collections of documents, which a person may ask in their conversations: their own, a group's, or the files of a folder."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from chatui.models.keys import Row


class Collection(Row):
    """Documents (``StoredFile.collection``) of the person who made it, or of the heir of that one."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="collections")
    name = models.CharField(max_length=60, blank=True)
    """Empty for the files of a folder, which has a name."""
    description = models.CharField(max_length=300, blank=True)
    groups = models.ManyToManyField(Group, blank=True, related_name="+")
    """Whose members may ask it, while its owner may offer it (``permissions.collections``)."""
    folder = models.OneToOneField("chatui.Folder", on_delete=models.CASCADE, null=True, blank=True, related_name="collection")
    """The one whose files these are: conversations in it ask them, and nobody else may. NULL for any other collection."""
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    """While it is set, nobody may ask it, and it can be restored."""

    class Meta(Row.Meta):
        permissions = [("offer_collections", "Can offer collections of documents to groups")]
