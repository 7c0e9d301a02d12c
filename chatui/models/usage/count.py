"""What one person has used of today's and this month's limits, and what their running turns have reserved."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class UsageCount(models.Model):
    """A person's usage counts for ``day`` and ``month`` (its first day), in UTC; counts of a past day or month are treated as 0.

    Tokens are the sum of input and output. Reservations belong to no day: they count until their turn ends.
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
