"""The admin pages for invitations: creates, lists and revokes them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from chatui.accounts import invitations
from chatui.accounts.people import account_actions
from chatui.admin.read_only import ReadOnlyAdmin
from chatui.models import Invitation, User
from chatui.permissions import access, administration, inviting
from chatui.web.visitors import visitor_of


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
                [(_note, path)] = account_actions.invite(visitor_of(request, "admin"), [chosen["note"]], chosen["group"], chosen["days"])
                shown |= {"link": request.build_absolute_uri(path), "days": chosen["days"]}
            except invitations.TooManyInvitedError as error:
                form.add_error("note", error.sentence)
                status = 429
        return render(request, "admin/invitation.html", shown, status=status)

    @admin.action(description=_("Revoke the selected invitations"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        """Revoke the selected invitations, which stop working at once. Each is recorded."""
        rows = list(queryset.select_related("made_by", "group"))
        staff = access.as_person(request.user)
        own = [row for row in rows if staff is not None and inviting.may_invite(staff, row.group)]
        if len(own) < len(rows):
            messages.warning(request, _("The others are for groups with permissions that you do not have."))
        count = invitations.revoke(visitor_of(request, "admin"), own)
        words = ngettext("%(count)d invitation was revoked.", "%(count)d invitations were revoked.", count)
        messages.success(request, words % {"count": count})
