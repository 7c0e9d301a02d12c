"""The last examination of a model server from the admin pages: one row for each server, by its name."""

from __future__ import annotations

from django.db import models

from chatui.models.keys import new_key


class Examination(models.Model):
    """An examination, running until ``finished_at``, at most until ``lease_until``: the process that runs it renews the lease, and one
    that died does not.

    ``run`` is new for each examination, so that one whose lease has expired cannot write into its successor. ``asked`` counts the test
    questions, ``kind`` is the wire format under test. ``report`` contains only numbers and names from fixed lists, no text from the server.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    server = models.CharField(max_length=60, unique=True)
    run = models.UUIDField(default=new_key)
    begun_at = models.DateTimeField()
    lease_until = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    asked = models.PositiveSmallIntegerField(default=0)
    kind = models.CharField(max_length=40, blank=True)
    report = models.JSONField(null=True, blank=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Examination of {self.server}"
