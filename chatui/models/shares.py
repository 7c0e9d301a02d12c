"""A share link: everybody who has it can read a snapshot of one branch of a conversation."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.conversation import Conversation
from chatui.models.keys import Row


class ShareLink(Row):
    """A share link."""

    token = models.CharField(max_length=22, unique=True)
    """Part of the URL."""
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="share_links")
    leaf = models.ForeignKey("chatui.Message", on_delete=models.CASCADE, related_name="+")
    """The last message of the snapshot. Messages never change, so the snapshot does not either."""
    title = models.CharField(max_length=120, blank=True)
    """The title at the time when the link was created."""
    shown_name = models.CharField(max_length=150, blank=True)
    """The name of the person at that time; empty: nobody is named."""
    has_documents = models.BooleanField(default=False)
    """Whether its owner chose to include the documents of the questions."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="share_links")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
