"""A line of the usage ledger: the tokens of one turn, or of one background request such as a title. Contains no text."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatui.models.keys import new_key
from chatui.models.programs.api_key import ApiKey


class UsageKind(models.TextChoices):
    """What the tokens were for."""

    ANSWER = "answer", _("Answers")
    TITLE = "title", _("Titles")
    SUMMARY = "summary", _("Summaries of reasoning")


class UsageEntry(models.Model):
    """A line of the ledger. ``day`` (UTC) is the day of the request. ``person`` is NULL once the person was erased, ``key`` if the request
    did not come from a program.

    ``choice``: the chosen back end, or one of its models; ``backend`` and ``model``: the names that they reported, empty if they never
    answered. If the answer was stopped before the server reported its model, ``model`` is the chosen one, if any. ``turns`` is 1 for an
    answer, else 0. ``cached_tokens`` are part of ``input_tokens``, reasoning is part of ``output_tokens``. ``is_estimate``: the server did
    not report all of the counts. No line refers to a conversation, so lines remain when conversations are deleted.
    """

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    day = models.DateField(db_index=True)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False)
    key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False)
    kind = models.CharField(max_length=12, choices=UsageKind)
    choice = models.CharField(max_length=260, blank=True)
    backend = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200, blank=True)
    turns = models.PositiveSmallIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    is_estimate = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()
        permissions = [("view_usage", "Can see how much everybody uses"), ("change_limits", "Can set limits and prices of usage")]
        indexes = [
            models.Index(fields=["person", "day"], name="usage_by_person"),
            models.Index(fields=["key"], condition=models.Q(key__isnull=False), name="usage_of_key"),
        ]

    def __str__(self) -> str:
        return f"Usage {self.id}"
