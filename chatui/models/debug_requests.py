"""A debug request: staff ask to see the hidden channels of one conversation, with a reason and for a limited time."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.conversation import Conversation
from chatui.models.keys import Keyed


class DebugRequest(Keyed):
    """Open until ``closed_at`` or ``expires_at``, whichever comes first. Without ``expires_at`` it is only a request, and nothing is
    open."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="debug_requests")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=500, blank=True)
    minutes = models.PositiveIntegerField()
    """The requested time."""
    asked_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    """The second person, who approved (then there is an ``expires_at``) or declined."""
    decided_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    owner_dismissed_at = models.DateTimeField(null=True, blank=True)
    """When the owner dismissed the access notice, where owners are notified."""

    class Meta:
        indexes = [models.Index(fields=["conversation", "person"], name="debug_request_by_conversation")]
