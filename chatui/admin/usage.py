"""The admin pages for usage limits and prices. Each change is recorded."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from chatui.audit_log.record import record
from chatui.models import ModelPrice, UsageLimit, User
from chatui.usage import limits
from chatui.web.visitors import visitor_of

_IDENTIFYING_FIELDS = ("group", "model", "since")
"""The columns that identify a row."""


class _LimitsAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows for staff who may set limits. Changes apply at once in this process, and soon in every other."""

    noun = ""
    show_full_result_count = False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may set limits."""
        return isinstance(request.user, User) and request.user.is_staff and request.user.has_perm("chatui.change_limits")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may set limits."""
        return self.has_view_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may set limits."""
        return self.has_view_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may set limits."""
        return self.has_view_permission(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Staff who may set limits."""
        return self.has_view_permission(request)

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        """Save the row, and record its values."""
        super().save_model(request, obj, form, change)
        self._record(request, obj, "changed" if change else "created")

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        """Record the row's values, and delete it."""
        self._record(request, obj, "deleted")
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete and record each row."""
        for row in queryset:
            self.delete_model(request, row)

    def _record(self, request: HttpRequest, row: Model, what: str) -> None:
        # An audit line has 200 characters, and a model's name may be as long: the numbers come first, and names only once.
        fields = [field for field in row._meta.concrete_fields if not field.primary_key and field.name not in _IDENTIFYING_FIELDS]
        values = ", ".join(f"{field.name} {value}" for field in fields if (value := field.value_from_object(row)) is not None)
        record(f"{self.noun} {what}", visitor_of(request, "admin"), detail=f"{values or 'nothing'}: {row}"[:200])
        limits.clear_cache()


class UsageLimitForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form for limits. A group's row without numbers exempts the group from limits; the row for everybody else needs a number."""

    def clean(self) -> dict[str, Any]:
        """Require at least one number, unless the row is for a group."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and all(value is None for name, value in cleaned.items() if name != "group") and cleaned.get("group") is None:
            raise forms.ValidationError(_("Enter at least one limit. Without any, the group's members have no limit."))
        return cleaned


@admin.register(UsageLimit)
class UsageLimitAdmin(_LimitsAdmin):
    """Usage limits of groups, and of everybody else."""

    form = UsageLimitForm

    noun = "usage limit"
    list_display = ("__str__", "day_turns", "day_tokens", "month_turns", "month_tokens")
    fields = ("group", "day_turns", "day_tokens", "month_turns", "month_tokens")
    list_select_related = ("group",)


@admin.register(ModelPrice)
class ModelPriceAdmin(_LimitsAdmin):
    """Prices of models, with the day from which each applies."""

    noun = "model price"
    list_display = ("model", "since", "input_price", "cached_price", "output_price")
    fields = ("model", "since", "input_price", "cached_price", "output_price")
    ordering = ("model", "-since")
