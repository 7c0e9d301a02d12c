"""A group whose members need a second factor, as those say who look after groups; the operator names others in the environment."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models


class RequiredFactor(models.Model):
    """There is a row for each such group, and none for the others."""

    group = models.OneToOneField(Group, on_delete=models.CASCADE, primary_key=True, related_name="required_factor")
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Required factor of group {self.group_id}"
