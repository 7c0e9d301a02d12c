"""A folder of a person's conversations, with custom instructions for all questions in it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import new_key


class Folder(models.Model):
    """A folder of conversations. ``instructions`` are the owner's preferences: nobody else sees them, and they rank below the operator's
    instructions."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="folders")
    name = models.CharField(max_length=60)
    instructions = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Folder {self.id}"
