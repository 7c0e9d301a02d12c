"""A person's second factor: one-time codes from an app, and recovery codes in case it is lost."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from chatui.models.keys import new_key


class SecondFactor(models.Model):
    """A person's one-time code app. The app's secret is derived from ``id`` and the product's secret key: the database alone reveals no
    codes. It is required from ``confirmed_at`` on. ``last_step`` is the time step of the last used code: each code is valid once.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor")
    confirmed_at = models.DateTimeField(null=True, blank=True)
    last_step = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Second factor {self.id}"


class RecoveryCode(models.Model):
    """A recovery code. ``digest`` is the SHA-256 of the code, in hexadecimal. A used code is deleted."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="one_row_per_recovery_code")]

    def __str__(self) -> str:
        return f"Recovery code {self.id}"
