"""The audit log, whose lines are hash-chained to the lines before them and never changed, with its counters and warnings.

A warning tells staff that a person requested hidden channels too often without the permission. A counter counts repetitions of an event,
until one more line of the log records the total.
"""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models

from chatui.models.keys import Keyed, Row


class AttemptWarning(Row):
    """One warning per person and day (UTC). ``attempts`` is the number within the operator's time window, as of the last count."""

    person_name = models.CharField(max_length=150)
    day = models.DateField()
    attempts = models.PositiveIntegerField()
    raised_at = models.DateTimeField(auto_now_add=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)

    class Meta(Row.Meta):
        constraints = [models.UniqueConstraint(fields=["person_name", "day"], name="one_warning_per_person_and_day")]
        indexes = [models.Index(fields=["acknowledged_at", "-raised_at"], name="warning_by_state")]


class AuditQuerySet(models.QuerySet["AuditEvent"]):
    """Refuses bulk updates and deletes, which would rewrite history."""

    def update(self, **kwargs: Any) -> NoReturn:
        """Always refused."""
        raise TypeError("the audit log is append-only")

    def delete(self) -> NoReturn:
        """Always refused."""
        raise TypeError("the audit log is append-only")


class AuditEvent(Keyed):
    """Who did what, when, from which address and by which route. Contains names and ids, never text of conversations."""

    number = models.PositiveBigIntegerField(unique=True)
    at = models.DateTimeField()
    code = models.CharField(max_length=40, blank=True)
    action = models.CharField(max_length=40)
    way = models.CharField(max_length=20)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.DO_NOTHING, null=True, db_constraint=False, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True)
    conversation_id = models.UUIDField(null=True)
    owner_name = models.CharField(max_length=150, blank=True)
    address = models.CharField(max_length=64, blank=True)
    detail = models.CharField(max_length=200, blank=True)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-number"]
        # Each filter of the page reads one of these indexes backwards, so that its first lines appear at once, however long the log is.
        indexes = [
            models.Index(fields=["at"], name="audit_by_time"),
            models.Index(fields=["actor", "code", "-at"], name="audit_by_actor"),
            models.Index(fields=["code", "-number"], name="audit_by_code"),
            models.Index(fields=["code", "at", "actor_name"], name="audit_counts"),  # covers all columns that the counts read
            models.Index(fields=["action", "-number"], name="audit_by_action"),
            models.Index(fields=["way", "-number"], name="audit_by_way"),
            models.Index(fields=["actor_name", "-number"], name="audit_by_actor_name"),
            models.Index(fields=["owner_name", "-number"], name="audit_by_owner_name"),
            models.Index(fields=["conversation_id", "-number"], name="audit_by_conversation"),
        ]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.number} {self.code or self.action}"


class CountedLine(Row):
    """A counter for a debug view or a repeatable attempt. It closes at ``ends_at`` or earlier. Afterwards, only ``line`` and ``sum_line``
    have values: the row only links two lines for the page."""

    line = models.PositiveBigIntegerField(unique=True)
    """The number of the first line."""
    sum_line = models.PositiveBigIntegerField(null=True, unique=True)
    """The number of the line with the sum."""
    key = models.CharField(max_length=200, null=True, unique=True)
    """Identifies the counter while it is open."""
    person_id = models.UUIDField(null=True)
    counts = models.JSONField(default=dict)
    """How often each event has happened."""
    networks = models.JSONField(default=list)
    """The networks from which they came."""
    last_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField()

    class Meta(Row.Meta):
        indexes = [
            models.Index(fields=["sum_line", "ends_at"], name="counted_line_open"),
            models.Index(fields=["person_id", "key"], name="counted_line_by_person"),
        ]
