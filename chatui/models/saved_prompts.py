"""Saved prompts: texts that a person puts into the message box with a few letters, their own or offered to a group."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from chatui.models.keys import Row


class SavedPrompt(Row):
    """A prompt of the person who made it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_prompts")
    group = models.ForeignKey(Group, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    """Its members may use it, too; None for nobody else."""
    name = models.CharField(max_length=60)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    """While this is set, nobody is offered it, and its owner can restore it."""
