"""A one-time link with which a person chooses a new password. Staff create it, and so never learn a password."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import new_key


class PasswordLink(models.Model):
    """Valid until ``expires_at``, for one use, and only while the account still has the password that it had when the link was created.

    ``dismissed_at`` is when the person dismissed the notice about it.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="password_links")
    made_by_name = models.CharField(max_length=150)
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_from = models.CharField(max_length=64, blank=True)
    dismissed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Password link {self.id}"
