"""What one person has used of today's and this month's limits, and what their running turns have reserved."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class UsageCount(models.Model):
    """A person's usage counts. ``day`` and ``month`` (its first day) say of when the counts are, in UTC; those of a day that is over count
    as nothing.

    Tokens are those of the input and the output together. Reservations belong to no day: they count until their turn ends.
    """

    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    day = models.DateField()
    month = models.DateField()
    day_tokens = models.BigIntegerField(default=0)
    day_turns = models.BigIntegerField(default=0)
    month_tokens = models.BigIntegerField(default=0)
    month_turns = models.BigIntegerField(default=0)
    reserved_tokens = models.BigIntegerField(default=0)
    reserved_turns = models.BigIntegerField(default=0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Usage of {self.person_id}"
