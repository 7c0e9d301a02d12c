"""A usage limit: for the members of a group, or for everybody who is in no group with a limit."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _


class UsageLimit(models.Model):
    """The limits per calendar day and month (UTC). NULL: unlimited; 0: nothing is allowed. ``group`` is NULL for everybody else.

    A person in several groups with limits has the largest of each kind.
    """

    group = models.OneToOneField(
        Group,
        verbose_name=_("group"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Empty: everybody who is not in a group with limits."),
    )
    day_tokens = models.PositiveBigIntegerField(_("tokens per day"), null=True, blank=True)
    day_turns = models.PositiveBigIntegerField(_("answers per day"), null=True, blank=True)
    month_tokens = models.PositiveBigIntegerField(_("tokens per month"), null=True, blank=True)
    month_turns = models.PositiveBigIntegerField(_("answers per month"), null=True, blank=True)

    class Meta:
        default_permissions = ()
        verbose_name = _("usage limit")
        verbose_name_plural = _("usage limits")
        constraints = [
            # The column is unique, but only for rows with a group: to the database, two NULLs are different.
            models.UniqueConstraint(
                Coalesce("group_id", models.Value(0), output_field=models.IntegerField()),
                name="one_limit_for_everybody",
                violation_error_message=_("These limits already exist. Change them instead."),
            )
        ]

    def __str__(self) -> str:
        return str(self.group) if self.group_id else "everybody"
