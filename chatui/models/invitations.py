"""Invitations to an account."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatui.models.keys import Row


class Invitation(Row):
    """Valid until ``expires_at``, for one account, and only while its creator would still be allowed to create it."""

    note = models.CharField(_("for whom"), max_length=100, blank=True)
    """For account managers: whom the invitation is for."""
    group = models.ForeignKey(Group, verbose_name=_("group"), on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    """The group that the new account joins, if any."""
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("created by"), on_delete=models.CASCADE, related_name="invitations_made"
    )
    made_at = models.DateTimeField(_("created"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires"))
    used_at = models.DateTimeField(_("used"), null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("used by"), on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)

    class Meta(Row.Meta):
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")

    def __str__(self) -> str:
        return self.note or f"Invitation {self.id}"
