"""Counts repetitions of an audit event, until one more line of the log records the total."""

from __future__ import annotations

from django.db import models

from chatui.models.keys import new_key


class CountedLine(models.Model):
    """A counter for a debug view or a repeatable attempt.

    ``line`` is the number of the first line. While the counter is open, ``key`` identifies it, ``counts`` has the number of each event, and
    ``networks`` their networks. It closes at ``ends_at`` or earlier. Afterwards, ``sum_line`` is the number of the line with the sum, and
    the other columns are empty: the row only links two lines for the page.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    line = models.PositiveBigIntegerField(unique=True)
    sum_line = models.PositiveBigIntegerField(null=True, unique=True)
    key = models.CharField(max_length=200, null=True, unique=True)
    person_id = models.UUIDField(null=True)
    counts = models.JSONField(default=dict)
    networks = models.JSONField(default=list)
    last_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["sum_line", "ends_at"], name="counted_line_open"),
            models.Index(fields=["person_id", "key"], name="counted_line_by_person"),
        ]
        default_permissions = ()

    def __str__(self) -> str:
        return f"Counted since line {self.line}"
