"""Where and when a session began, so that its person can recognize it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import new_key


class BegunSession(models.Model):
    """The start of a session. ``key`` is the key of Django's session, and is valid as long as that session. ``device``: browser and system,
    in a few words; ``way``: how the person signed in, empty for a password; ``outside_id``: the session's id (``sid``) at the provider, if
    it sent one."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="begun_sessions")
    key = models.CharField(max_length=40, unique=True)
    begun_at = models.DateTimeField(auto_now_add=True)
    address = models.CharField(max_length=64, blank=True)
    device = models.CharField(max_length=60, blank=True)
    way = models.CharField(max_length=60, blank=True)
    outside_id = models.CharField(max_length=255, blank=True, default="", db_default="")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Session {self.id}"
