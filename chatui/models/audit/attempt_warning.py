"""A warning to staff: a person requested hidden channels too often without the permission."""

from __future__ import annotations

from django.db import models

from chatui.models.keys import new_key


class AttemptWarning(models.Model):
    """One warning per person and day (UTC). ``attempts`` is the number within the operator's time window, as of the last count."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    person_name = models.CharField(max_length=150)
    day = models.DateField()
    attempts = models.PositiveIntegerField()
    raised_at = models.DateTimeField(auto_now_add=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person_name", "day"], name="one_warning_per_person_and_day")]
        indexes = [models.Index(fields=["acknowledged_at", "-raised_at"], name="warning_by_state")]
        default_permissions = ()

    def __str__(self) -> str:
        return f"Warning {self.id}"
