"""A person's passkeys: the public data that is needed to verify one, and nothing that could create one."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import new_key


class Passkey(models.Model):
    """A passkey's public data. ``digest`` is the SHA-256 of ``credential_id``, in hexadecimal; ``public_key`` a COSE key (RFC 9052).
    ``site``: the host it is for.

    ``sign_count`` is the authenticator's counter at the last use; many always report 0.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=60)
    site = models.CharField(max_length=253)
    credential_id = models.BinaryField(max_length=1023)
    digest = models.CharField(max_length=64, unique=True)
    public_key = models.BinaryField(max_length=1200)
    sign_count = models.BigIntegerField(default=0, db_default=0)
    made_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Passkey {self.id}"
