"""Assistants: a name with instructions, a model and first questions, which a conversation begins with. Each change makes a new version.

A conversation points at the version that it began with. Versions that nothing points at are removed with the next change.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from chatui.models.collections import Collection
from chatui.models.keys import Row


class Assistant(Row):
    """An assistant of the person who made it, or of the heir of that one."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="assistants")
    newest = models.PositiveIntegerField(default=1)
    """The number of its newest version."""
    groups = models.ManyToManyField(Group, blank=True, related_name="+")
    """Their members may use it, while its owner may offer it (``permissions.assistants``)."""
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    """While this is set, it applies nowhere, and can be restored."""

    class Meta(Row.Meta):
        permissions = [("offer_assistants", "Can offer assistants and saved prompts to groups")]


class AssistantPicture(Row):
    """A picture of an assistant, which versions show instead of initials. ``data``: a PNG as ``chatui.pictures`` writes it. It is never
    changed: a new picture is a new row. One that no version has any more is removed with the next change."""

    assistant = models.ForeignKey(Assistant, on_delete=models.CASCADE, related_name="pictures")
    data = models.BinaryField()


class AssistantVersion(Row):
    """What an assistant is at one time."""

    assistant = models.ForeignKey(Assistant, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=60)
    initials = models.CharField(max_length=8, blank=True)
    picture = models.ForeignKey(AssistantPicture, on_delete=models.SET_NULL, null=True, blank=True, related_name="versions")
    description = models.CharField(max_length=160, blank=True, default="", db_default="")
    """What it is for, in one line, for those who choose one."""
    instructions = models.TextField(blank=True)
    """Shown to its owner alone."""
    choice = models.CharField(max_length=260, blank=True)
    """Its model, as ``Conversation.choice``; empty for the one that the person would have."""
    effort = models.CharField(max_length=8, blank=True)
    """Empty for that which the person would have."""
    starters = models.JSONField(default=list)
    """The first questions that it offers."""
    tools = models.JSONField(null=True, blank=True)
    """The names of those that are on where a conversation begins with it, among those that the person is offered; None for those that the
    person would have."""
    collections = models.ManyToManyField(Collection, blank=True, related_name="+")
    """Its files: collections of its owner, which a conversation with it asks besides its own, as far as the person may ask them."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["assistant", "number"], name="assistant_version_once")]
