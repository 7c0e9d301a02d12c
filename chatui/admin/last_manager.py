"""Prevents staff from removing the last account manager, and from using permissions that they have lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from chatui.accounts.sign_in_rules import account_managers
from chatui.audit_log.record import record
from chatui.models import User
from chatui.permissions.access import as_person
from chatui.web.visitors import visitor_of


class LastManagerGuardAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rolls back any change that leaves no account manager, which only the operator could repair. Recorded.

    Permissions are checked after the accounts of the member of staff and of the target are locked, because those read at the start of the
    request may be out of date.
    """

    acts_one_by_one = False
    """Whether bulk actions lock and check each row by themselves: one transaction for all rows would block everybody's writes."""

    def changeform_view(self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None) -> Any:
        """The page of one row, guarded."""
        view = super().changeform_view
        return self._guarded(request, object_id, lambda: view(request, object_id, form_url, extra_context))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """The page that deletes a row, guarded: deleting a group removes the permissions that it grants."""
        view = super().delete_view
        return self._guarded(request, object_id, lambda: view(request, object_id, extra_context))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """The list, guarded because of its bulk actions."""
        view = super().changelist_view
        if self.acts_one_by_one:
            return view(request, extra_context)
        return self._guarded(request, None, lambda: view(request, extra_context))

    def _guarded(self, request: HttpRequest, object_id: str | None, respond: Callable[[], HttpResponse]) -> HttpResponse:
        staff = as_person(request.user)
        if request.method != "POST" or staff is None:
            return respond()
        row = self.get_object(request, object_id) if object_id else None
        try:
            with account_managers.require_manager_left(
                str(row or f"{self.opts.model_name}s"), [staff.pk, *([row.pk] if isinstance(row, User) else ())]
            ):
                request.user = account_managers.lock_for(staff)
                if not self.admin_site.has_permission(request):
                    raise PermissionDenied
                return respond()
        except account_managers.LastAccountManagerError as error:
            record("account not changed", visitor_of(request, "admin"), error.name, detail=f"by staff: {error}")
            list(messages.get_messages(request))  # remove the success message, which is no longer true
            messages.error(request, gettext("Nothing was changed: nobody else could manage accounts."))
            return redirect(request.path)
