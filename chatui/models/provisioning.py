"""SCIM 2.0 provisioning data: a directory's accounts, groups, members and token."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from chatui.models.keys import Row


class ProvisionedAccount(Row):
    """An account as a provider's directory knows it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="provisioned_accounts")
    issuer = models.CharField(max_length=250)
    external_id = models.CharField(max_length=255, blank=True)
    """The directory's value."""
    user_name = models.CharField(max_length=255)
    """The directory's value."""
    name_key = models.CharField(max_length=255)
    """The name without case."""
    given_name = models.CharField(max_length=150, blank=True)
    family_name = models.CharField(max_length=150, blank=True)
    email = models.CharField(max_length=254, blank=True)
    made_account = models.BooleanField(default=False, db_default=False)
    """Whether the directory created the account, so that it also sets its name and address."""
    made_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    """When the directory deleted it."""

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(fields=["user", "issuer"], name="one_provisioned_account_per_issuer"),
            models.UniqueConstraint(fields=["issuer", "external_id"], condition=~models.Q(external_id=""), name="one_per_external_id"),
            models.UniqueConstraint(fields=["issuer", "name_key"], condition=models.Q(deleted_at=None), name="one_per_provisioned_name"),
        ]


class ProvisionedGroup(Row):
    """A group in a directory. It grants nothing by itself: the operator's table maps its names to our groups."""

    issuer = models.CharField(max_length=250)
    external_id = models.CharField(max_length=255, blank=True)
    name = models.CharField(max_length=255)
    members = models.ManyToManyField(ProvisionedAccount, related_name="groups")
    made_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["issuer", "name"], name="one_group_per_provisioned_name")]


class GivenGroups(Row):
    """The groups of the product that a provider, or its directory, gave a person. Memberships in no such row were given by staff."""

    TURNED_AWAY = "turned away"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="given_groups")
    issuer = models.CharField(max_length=250)
    said = models.JSONField(default=list)
    """The values that it last named."""
    table = models.CharField(max_length=64, blank=True)
    """The digest of the operator's table when the groups were last set, or ``TURNED_AWAY`` if the person could not enter with this provider
    the last time."""
    gave_staff = models.BooleanField(default=False, db_default=False)
    """Whether it also made the person staff."""
    groups = models.ManyToManyField(Group, related_name="+")

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["user", "issuer"], name="one_giver_per_issuer")]


class ProvisioningToken(Row):
    """The one token of a provider."""

    provider = models.CharField(max_length=40, unique=True)
    """The key in the operator's file."""
    digest = models.CharField(max_length=64, unique=True)
    """Its SHA-256, in hexadecimal."""
    made_at = models.DateTimeField(auto_now_add=True)
    last_used_on = models.DateField(null=True, blank=True)
