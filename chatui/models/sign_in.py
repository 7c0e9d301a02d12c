"""How people sign in: sessions, identities at sign-in services, passkeys, second factors, and one-time links.

A session has where and when it began, so that its person can recognize it. An identity is the issuer, and the service's permanent id for
the person. Of a passkey there is the public data that is needed to verify one, and nothing that could create one. A second factor is
one-time codes from an app, and recovery codes in case it is lost. A group whose members must have one is set in the product; the operator's
settings can name others.

With a password link, a person chooses a new password. Staff create it, and so never learn a password. With an invitation, a person creates
their own account.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from chatui.models.keys import Row, Table


class BegunSession(Row):
    """The start of a session. The row is valid as long as the session."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="begun_sessions")
    key = models.CharField(max_length=40, unique=True)
    """The key of Django's session as it is stored, a digest."""
    begun_at = models.DateTimeField(auto_now_add=True)
    address = models.CharField(max_length=64, blank=True)
    device = models.CharField(max_length=60, blank=True)
    """Browser and system, in a few words."""
    way = models.CharField(max_length=60, blank=True)
    """How the person signed in: empty for a password, a digest of the issuer for a provider."""
    outside_id = models.CharField(max_length=255, blank=True, default="", db_default="")
    """The session's id (``sid``) at the provider, if it sent one, or the id of the passkey that began it."""


class OutsideIdentity(Row):
    """A person's identity at a provider, as of the last sign-in.

    It is looked up by ``issuer`` and ``subject`` alone: names and addresses may pass to other people.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="outside_identities")
    issuer = models.CharField(max_length=250)
    subject = models.CharField(max_length=255)
    provider = models.CharField(max_length=40)
    """The provider's key in the operator's file."""
    name = models.CharField(max_length=150, blank=True)
    """The person's name at the service."""
    email = models.CharField(max_length=254, blank=True, default="", db_default="")
    """Their verified address there."""
    directory_id = models.CharField(max_length=255, blank=True, default="", db_default="")
    """Their id in the provider's directory (``scim_claim``)."""
    made_account = models.BooleanField(default=False, db_default=False)
    """Whether the first sign-in created the account, so that its name and address follow the service's."""
    made_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_account_per_identity"),
            models.UniqueConstraint(fields=["user", "issuer"], name="one_identity_per_issuer"),
        ]


class SecondFactor(Row):
    """A person's one-time code app. The app's secret is derived from ``id`` and the product's secret key: the database alone reveals no
    codes. It is required from ``confirmed_at`` on. ``last_step`` is the time step of the last used code: each code is valid once.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor")
    confirmed_at = models.DateTimeField(null=True, blank=True)
    last_step = models.BigIntegerField(default=0, db_default=0)


class RecoveryCode(Row):
    """A recovery code. ``digest`` is the SHA-256 of the code, in hexadecimal. A used code is deleted."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="one_row_per_recovery_code")]


class RequiredFactor(Table):
    """A row for each group whose members need a second factor."""

    group = models.OneToOneField(Group, on_delete=models.CASCADE, primary_key=True, related_name="required_factor")
    since = models.DateTimeField(auto_now_add=True)


class PasswordLink(Row):
    """Valid until ``expires_at``, for one use, and only while the account still has the password that it had when the link was created.

    ``dismissed_at`` is when the person dismissed the notice about it.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="password_links")
    made_by_name = models.CharField(max_length=150)
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_from = models.CharField(max_length=64, blank=True)
    dismissed_at = models.DateTimeField(null=True, blank=True)

    BY_MAIL = "by mail"
    """``made_by_name`` of a link that was sent for a forgotten password. No account can have this name, because it has a space."""

    @property
    def is_by_mail(self) -> bool:
        """Whether the link was requested on the sign-in page."""
        return self.made_by_name == self.BY_MAIL
