"""Token usage: what each person has used, the ledger of it, the limits, and the prices.

A count is what one person has used of today's and this month's limits, and what their running turns have reserved. A line of the ledger has
the tokens of one turn, or of one background request such as a title, and no text. A limit is for the members of a group, or for everybody
who is in no group with a limit. A price of a model's tokens holds from a given day on.
"""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from chatui.models.keys import Row, Table
from chatui.models.programs import ApiKey


class UsageCount(Table):
    """A person's usage counts for ``day`` and ``month`` (its first day), in UTC. Counted anew from the ledger with the first question of a
    day, and from then on kept up to date as long as there are limits: ``since`` is the key of the oldest limit at that time. A count of
    another day or with another ``since`` may lack something.

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
    since = models.BigIntegerField(default=0, db_default=0)


class UsageKind(models.TextChoices):
    """What the tokens were for."""

    ANSWER = "answer", _("Answers")
    TITLE = "title", _("Titles")
    SUMMARY = "summary", _("Summaries of reasoning")


class UsageEntry(Row):
    """A line of the ledger. No line refers to a conversation, so lines remain when conversations are deleted."""

    day = models.DateField(db_index=True)
    """The day of the request (UTC)."""
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False)
    """NULL once the person was erased."""
    key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False)
    """NULL if the request did not come from a program."""
    kind = models.CharField(max_length=12, choices=UsageKind)
    choice = models.CharField(max_length=260, blank=True)
    """The chosen model server, or one of its models."""
    backend = models.CharField(max_length=100, blank=True)
    """The name that the model server reported; empty if it never answered."""
    model = models.CharField(max_length=200, blank=True)
    """The name that the model reported; if the answer was stopped before, the chosen one, if any."""
    turns = models.PositiveSmallIntegerField(default=0)
    """1 for an answer, else 0."""
    input_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(default=0)
    """Part of ``input_tokens``, as reasoning is part of ``output_tokens``."""
    output_tokens = models.PositiveBigIntegerField(default=0)
    is_estimate = models.BooleanField(default=False)
    """Whether the server did not report all of the counts."""

    class Meta(Row.Meta):
        permissions = [("view_usage", "Can see how much everybody uses"), ("change_limits", "Can set limits and prices of usage")]
        indexes = [
            models.Index(fields=["person", "day"], name="usage_by_person"),
            models.Index(fields=["key"], condition=models.Q(key__isnull=False), name="usage_of_key"),
        ]


class UsageLimit(Table):
    """The limits per calendar day and month (UTC). NULL: unlimited; 0: nothing is allowed. A row without ``group`` and ``person`` is for
    everybody else.

    A person's own limits replace those of their groups. A person in several groups with limits has the largest of each kind.
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
    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    day_tokens = models.PositiveBigIntegerField(_("tokens per day"), null=True, blank=True)
    day_turns = models.PositiveBigIntegerField(_("answers per day"), null=True, blank=True)
    month_tokens = models.PositiveBigIntegerField(_("tokens per month"), null=True, blank=True)
    month_turns = models.PositiveBigIntegerField(_("answers per month"), null=True, blank=True)

    class Meta(Table.Meta):
        verbose_name = _("usage limit")
        verbose_name_plural = _("usage limits")
        constraints = [
            # The columns are unique, but only for rows with a group or person: to the database, two NULLs are different.
            models.UniqueConstraint(
                Coalesce("group_id", models.Value(0), output_field=models.IntegerField()),
                condition=models.Q(person=None),
                name="one_limit_for_everybody",
            ),
            models.CheckConstraint(condition=models.Q(group=None) | models.Q(person=None), name="limit_of_group_or_person"),
        ]

    def __str__(self) -> str:
        return str(self.group or self.person or "everybody")


_NOT_NEGATIVE = [MinValueValidator(Decimal(0))]


class ModelPrice(Table):
    """The price of a million tokens, in the currency of CHATUI_CURRENCY, until the ``since`` of the model's next price."""

    model = models.CharField(_("model"), max_length=200, help_text=_("The name of the model in the usage tables."))
    """Its name at its server."""
    since = models.DateField(_("valid from"))
    input_price = models.DecimalField(_("price per million input tokens"), max_digits=12, decimal_places=4, validators=_NOT_NEGATIVE)
    cached_price = models.DecimalField(
        _("price per million cached input tokens"), max_digits=12, decimal_places=4, null=True, blank=True, validators=_NOT_NEGATIVE
    )
    """For cached input tokens; NULL: the price of other input."""
    output_price = models.DecimalField(_("price per million output tokens"), max_digits=12, decimal_places=4, validators=_NOT_NEGATIVE)

    class Meta(Table.Meta):
        verbose_name = _("model price")
        verbose_name_plural = _("model prices")
        constraints = [models.UniqueConstraint(fields=["model", "since"], name="one_price_from_a_day")]

    def __str__(self) -> str:
        return f"{self.model} from {self.since}"
