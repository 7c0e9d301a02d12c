"""A closed account: when, by whom and why it was closed. The row exists until the account is reopened or erased."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import new_key


class Cause(models.TextChoices):
    """Why an account was closed. Requests from other servers cannot close the accounts of people who manage this site."""

    STAFF = "staff", "by staff"
    OPERATOR = "operator", "by the operator"
    OWN = "own", "by the account's owner"
    PROVISIONING = "provisioning", "by the directory"
    LOGOUT = "logout", "by the sign-in service"

    @property
    def is_from_outside(self) -> bool:
        """Whether another server requested it."""
        return self in (Cause.PROVISIONING, Cause.LOGOUT)


class ClosedAccount(models.Model):
    """The record of a closed account. ``source``: the key of the provider that requested it; empty for other causes. ``by_name``: who
    closed it, if that was somebody else. ``is_going``: it is being transferred and erased, so it cannot be reopened; the next purge
    continues an interrupted erasure.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="closed_account")
    closed_at = models.DateTimeField(auto_now_add=True)
    cause = models.CharField(max_length=16, choices=Cause)
    source = models.CharField(max_length=40, blank=True)
    by_name = models.CharField(max_length=150, blank=True)
    is_going = models.BooleanField(default=False, db_default=False)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Closed account {self.id}"
