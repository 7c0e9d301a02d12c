"""The admin pages for usage limits and prices, API keys, failed answers and invitations, and the base of those that are read-only.

Each change of a limit or a price is recorded. API keys can be revoked, but a key itself is never shown. A failed answer is found by the
number that a person was shown, and its page shows the cause, but neither conversation text nor the owner's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from chatui.accounts import api_keys, invitations, people
from chatui.audit_log.record import record
from chatui.codes import code_of
from chatui.display.failures import cause_of, number
from chatui.models.programs import ApiKey
from chatui.models.sign_in import Invitation
from chatui.models.turn import FailedAnswer
from chatui.models.usage import ModelPrice, UsageLimit
from chatui.models.user import User
from chatui.permissions import access, administration
from chatui.proxies import public_address
from chatui.site.languages import sentence_of
from chatui.usage import limits
from chatui.web.guards import visitor_of

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


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that staff can read and filter, but not add, change or delete."""

    actions: Sequence[str] | None = None

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """API keys. Staff who may see accounts see them, and staff who may change accounts can revoke them."""

    list_display = ("prefix", "owner", "name", "views_hidden", "created_at", "expires_at", "last_used_on", "revoked_at")
    fields = readonly_fields = (*list_display, "choices", "tools", "for_responses", "for_chat", "per_minute", "reads_all", "made_by_name")
    search_fields = ("=prefix", "owner__username")
    ordering = ("-created_at",)
    list_select_related = ("owner",)
    show_full_result_count = False
    actions = ["revoke"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """All keys, without their digests."""
        return ApiKey.objects.defer("digest")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow no filters: filtering by the digest would reveal it, letter by letter."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may see accounts."""
        return isinstance(request.user, User) and request.user.is_staff and request.user.has_perm("chatui.view_user")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Staff who may change accounts."""
        return self.has_view_permission(request) and request.user.has_perm("chatui.change_user")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Staff who may see the list."""
        return self.has_view_permission(request)

    @admin.action(description=_("Revoke the selected keys"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke the selected keys, which stop working at once. Each is recorded."""
        count = api_keys.revoke_for_admin(visitor_of(request, "admin"), list(queryset))
        words = ngettext("%(count)d key was revoked.", "%(count)d keys were revoked.", count)
        messages.success(request, words % {"count": count})


@admin.register(FailedAnswer)
class FailedAnswerAdmin(ReadOnlyAdmin):
    """The failed answers, read-only, for staff who may see model servers."""

    list_display = ("shown_number", "started_at", "error_code", "meaning", "cause")
    fields = readonly_fields = list_display
    search_fields = ("id",)
    search_help_text = _("The number shown to the user, such as 4F2A-91BC")
    list_filter = ("error_code",)
    ordering = ("-started_at",)
    date_hierarchy = "started_at"
    list_display_links = None
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[FailedAnswer]:
        """Finished answers with an error code, without their stored requests."""
        failed = FailedAnswer.objects.exclude(error_code="").defer("request", "error_detail")
        return failed.exclude(state="running")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Search by the end of the id, without the dash, which only makes the number readable."""
        digits = "".join(sign for sign in search_term.lower() if sign.isalnum())
        return (queryset.filter(id__endswith=digits) if digits else queryset), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the list's filters: filtering by another column would reveal it, letter by letter."""
        return lookup.partition("__")[0] in ("error_code", "started_at")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may see model servers."""
        return access.can_see_failures(access.as_person(request.user))

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Staff who may see model servers."""
        return self.has_view_permission(request)

    @admin.display(description=_("Number"))
    def shown_number(self, turn: FailedAnswer) -> str:
        """The number as people see it."""
        return number(turn.pk)

    @admin.display(description=_("Message shown to the user"))
    def meaning(self, turn: FailedAnswer) -> str:
        """The sentence for the error code."""
        return sentence_of(code_of(turn.error_code))

    @admin.display(description=_("Cause"))
    def cause(self, turn: FailedAnswer) -> str:
        """The cause of the failure."""
        return cause_of(turn)


class InvitationForm(forms.Form):
    """The form for a new invitation: whom it is for, the group, and how long it is valid."""

    note = forms.CharField(label=_("For whom"), max_length=100, required=False, help_text=_("Shown only in this list."))
    group = forms.ModelChoiceField(label=_("Group"), queryset=Group.objects.none(), required=False)
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=invitations.MAX_DAYS, initial=7)

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Offer only groups without permissions that the member of staff lacks: an invitation must not grant more."""
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["group"].queryset = administration.assignable_groups(request.user)


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    """Invitations. Staff who may see accounts see them, and staff who may also add accounts create and revoke them."""

    list_display = ("made_at", "note", "group", "made_by", "expires_at", "used_at", "used_by", "revoked_at")
    fields = readonly_fields = list_display
    ordering = ("-made_at",)
    list_select_related = ("group", "made_by", "used_by")
    show_full_result_count = False
    actions = ["revoke"]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow no filters."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may see accounts."""
        return isinstance(request.user, User) and request.user.is_staff and request.user.has_perm("chatui.view_user")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff who may see and add accounts."""
        return self.has_view_permission(request) and request.user.has_perm("chatui.add_user")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Staff who may create invitations."""
        return self.has_add_permission(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Staff who may see the list."""
        return self.has_view_permission(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the form, and once it is sent the link, which is shown only once."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = InvitationForm(request, request.POST or None)
        shown = self.admin_site.each_context(request) | {"form": form, "title": _("New invitation")}
        status = 200
        if request.method == "POST" and form.is_valid():
            chosen = form.cleaned_data
            try:
                [(_note, path)] = people.invite(visitor_of(request, "admin"), [chosen["note"]], chosen["group"], chosen["days"])
                shown |= {"link": public_address(request, path), "days": chosen["days"]}
            except invitations.TooManyInvitedError as error:
                form.add_error("note", error.sentence)
                status = 429
        return render(request, "admin/invitation.html", shown, status=status)

    @admin.action(description=_("Revoke the selected invitations"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        """Revoke the selected invitations, which stop working at once. Each is recorded."""
        rows = list(queryset.select_related("made_by", "group"))
        staff = access.as_person(request.user)
        own = [row for row in rows if staff is not None and administration.may_invite(staff, row.group)]
        if len(own) < len(rows):
            messages.warning(request, _("The others are for groups with permissions that you do not have."))
        count = invitations.revoke(visitor_of(request, "admin"), own)
        words = ngettext("%(count)d invitation was revoked.", "%(count)d invitations were revoked.", count)
        messages.success(request, words % {"count": count})
