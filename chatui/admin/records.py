"""The admin pages for usage limits and prices, API keys and invitations, for staff with a permission.

Each change of a limit or a price is recorded. API keys can be revoked, but a key itself is never shown.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from chatui.accounts import api_keys
from chatui.audit_log.record import record
from chatui.models.programs import ApiKey
from chatui.models.sign_in import Invitation
from chatui.models.usage import ModelPrice, UsageLimit
from chatui.permissions import access
from chatui.usage import limits
from chatui.web.guards import visitor_of

_IDENTIFYING_FIELDS = ("group", "model", "since")
"""The columns that identify a row."""


class GuardedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows for staff with the ``permission``, who may also add, change and delete them if they are ``editable``.

    ``lookups``: the columns that lists may be filtered by; another one would be revealed by filters, letter by letter.
    """

    permission = ""
    editable = False
    lookups: tuple[str, ...] = ()
    show_full_result_count = False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return access.is_staff_with(access.as_person(request.user), self.permission)

    has_module_permission = has_view_permission

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.editable and self.has_view_permission(request)

    has_add_permission = has_delete_permission = has_change_permission

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup.partition("__")[0] in self.lookups


class _LimitsAdmin(GuardedAdmin):
    """Changes apply at once in this process, and soon in every other."""

    permission = "chatui.change_limits"
    editable = True
    noun = ""

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        self._record(request, obj, "changed" if change else "created")

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        self._record(request, obj, "deleted")
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
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


@admin.register(ApiKey)
class ApiKeyAdmin(GuardedAdmin):
    """API keys. Staff who may see accounts see them, and staff who may change accounts can revoke them."""

    permission = "chatui.view_user"
    list_display = ("prefix", "owner", "name", "views_hidden", "created_at", "expires_at", "last_used_on", "revoked_at")
    fields = readonly_fields = (*list_display, "choices", "tools", "for_responses", "for_chat", "per_minute", "reads_all", "made_by_name")
    search_fields = ("=prefix", "owner__username")
    ordering = ("-created_at",)
    list_select_related = ("owner",)
    actions = ["revoke"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        return ApiKey.objects.defer("digest")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request) and request.user.has_perm("chatui.change_user")

    @admin.action(description=_("Revoke the selected keys"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke the selected keys, which stop working at once. Each is recorded."""
        count = api_keys.revoke(visitor_of(request, "admin"), list(queryset))
        words = ngettext("%(count)d key was revoked.", "%(count)d keys were revoked.", count)
        messages.success(request, words % {"count": count})


@admin.register(Invitation)
class InvitationAdmin(GuardedAdmin):
    """All invitations, also those that were used or revoked. Staff create and revoke them on the pages of ``web.manage``."""

    permission = "chatui.view_user"
    list_display = ("made_at", "note", "group", "made_by", "expires_at", "used_at", "used_by", "revoked_at")
    fields = readonly_fields = list_display
    ordering = ("-made_at",)
    list_select_related = ("group", "made_by", "used_by")
