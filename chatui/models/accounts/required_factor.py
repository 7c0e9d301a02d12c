"""A group whose members must have a second factor, as set in the product; the operator's settings can name others."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models


class RequiredFactor(models.Model):
    """A row for each group whose members need a second factor."""

    group = models.OneToOneField(Group, on_delete=models.CASCADE, primary_key=True, related_name="required_factor")
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Required factor of group {self.group_id}"
