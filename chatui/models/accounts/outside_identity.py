"""A person's identity at a sign-in service: the issuer, and the service's permanent id for them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import new_key


class OutsideIdentity(models.Model):
    """Looked up by ``issuer`` and ``subject`` alone: names and addresses may pass to other people.

    As of the last sign-in: ``provider`` is the provider's key in the operator's file, ``name`` the person's name at the service, and
    ``directory_id`` their id in the provider's directory (``scim_claim``). ``made_account``: the first sign-in created the account, so its
    name follows the service's.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="outside_identities")
    issuer = models.CharField(max_length=250)
    subject = models.CharField(max_length=255)
    provider = models.CharField(max_length=40)
    name = models.CharField(max_length=150, blank=True)
    directory_id = models.CharField(max_length=255, blank=True, default="", db_default="")
    made_account = models.BooleanField(default=False, db_default=False)
    made_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_account_per_identity"),
            models.UniqueConstraint(fields=["user", "issuer"], name="one_identity_per_issuer"),
        ]

    def __str__(self) -> str:
        return f"Identity {self.id}"
