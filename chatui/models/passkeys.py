"""Passkeys of people."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import Row


class Passkey(Row):
    """A passkey's public data."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=60)
    site = models.CharField(max_length=253)
    """The host it is for."""
    credential_id = models.BinaryField(max_length=1023)
    digest = models.CharField(max_length=64, unique=True)
    """The SHA-256 of ``credential_id``, in hexadecimal."""
    public_key = models.BinaryField(max_length=1200)
    """A COSE key (RFC 9052)."""
    sign_count = models.BigIntegerField(default=0, db_default=0)
    """The authenticator's counter at the last use; many always report 0."""
    made_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
