"""Usage limits and prices of models, as staff set them: for a group, for one person, for everybody else. Each change is recorded.

``usage.limits`` finds the limits of somebody. A change applies at once in this process, and soon in every other.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.audit_log.record import Visitor, record
from chatui.models.usage import ModelPrice, UsageLimit
from chatui.models.user import User
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError, existing, person_of
from chatui.usage import limits

_IDENTIFYING_FIELDS = ("group", "person", "model", "since")
"""The columns that identify a row."""


class LimitForm(forms.ModelForm):  # type: ignore[type-arg]
    """Limits. A group or person with a row without numbers has no limit; the row for everybody else needs a number."""

    class Meta:
        model = UsageLimit
        fields = ("group", "day_turns", "day_tokens", "month_turns", "month_tokens")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """A new limit is for a group or for everybody else, unless the ``instance`` names somebody."""
        super().__init__(*args, **kwargs)
        if self.instance.pk or self.instance.person_id:
            del self.fields["group"]
        else:
            fields: dict[str, Any] = self.fields
            fields["group"].empty_label = _("Everybody else")

    def clean(self) -> dict[str, Any]:
        """Require at least one number, unless the row is for a group or a person, and only one row for each."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        group, person_id = cleaned.get("group", self.instance.group), self.instance.person_id
        if not (self.errors or group or person_id) and all(value is None for name, value in cleaned.items() if name != "group"):
            raise forms.ValidationError(_("Enter at least one limit. Without any, the group's members have no limit."))
        if UsageLimit.objects.filter(group=group, person_id=person_id).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("These limits already exist. Change them instead."))
        return cleaned


class PriceForm(forms.ModelForm):  # type: ignore[type-arg]
    """The prices of a model from a day on."""

    class Meta:
        model = ModelPrice
        fields = ("model", "since", "input_price", "cached_price", "output_price")
        widgets = {"since": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")}


def all_limits() -> list[UsageLimit]:
    """Everybody's first, then groups by name, then people by name."""
    rows = UsageLimit.objects.select_related("group", "person")
    return sorted(rows, key=lambda row: (bool(row.person_id), bool(row.group_id), str(row)))


def all_prices() -> list[ModelPrice]:
    """By model, the newest first."""
    return list(ModelPrice.objects.order_by("model", "-since"))


def limit(limit_id: int) -> UsageLimit:
    """The row with that key. Raises NotFoundError if there is none."""
    return existing(UsageLimit.objects.select_related("group", "person").filter(pk=limit_id).first())


def limit_of(person_id: UUID) -> UsageLimit:
    """The person's own limit, or an unsaved one. Raises NotFoundError if there is no such person."""
    found = UsageLimit.objects.select_related("person").filter(person=person_id).first()
    return found or UsageLimit(person=existing(User.objects.filter(pk=person_id).first()))


def price(price_id: int) -> ModelPrice:
    """The row with that key. Raises NotFoundError if there is none."""
    return existing(ModelPrice.objects.filter(pk=price_id).first())


@transaction.atomic
def save(visitor: Visitor, row: UsageLimit | ModelPrice) -> None:
    """Store a new or changed row. Recorded.

    Raises:
        NotFoundError: the visitor may not.
        IntegrityError: somebody else has just created the same.
    """
    what = "changed" if row.pk else "created"
    _check(visitor)
    row.save()
    _record(visitor, row, what)


@transaction.atomic
def delete(visitor: Visitor, row: UsageLimit | ModelPrice) -> None:
    """Delete a row. Recorded. Raises NotFoundError if the visitor may not."""
    _check(visitor)
    _record(visitor, row, "deleted")
    row.delete()


def kind_and_name(row: UsageLimit | ModelPrice) -> tuple[str, str]:
    """ "price" or "limit", and what it is called on a page: a model, a group, a person or everybody else."""
    if isinstance(row, ModelPrice):
        return "price", row.model
    return "limit", str(row.group or row.person or gettext("Everybody else"))


def _check(visitor: Visitor) -> None:
    if not administration.may_set_limits(person_of(visitor)):
        raise NotFoundError


def _record(visitor: Visitor, row: UsageLimit | ModelPrice, what: str) -> None:
    # An audit line has 200 characters, and a model's name may be as long: the numbers come first, and names only once.
    fields = [field for field in row._meta.concrete_fields if not field.primary_key and field.name not in _IDENTIFYING_FIELDS]
    values = ", ".join(f"{field.name} {value}" for field in fields if (value := field.value_from_object(row)) is not None)
    noun, whose = ("usage limit", row.person) if isinstance(row, UsageLimit) else ("model price", None)
    record(f"{noun} {what}", visitor, whose.get_username() if whose else "", detail=f"{values or 'nothing'}: {row}"[:200])
    transaction.on_commit(limits.clear_cache)
