"""Closes and reopens accounts on the admin pages, with list actions and with the *active* check box on an account's page."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop

from chatui.accounts.people.changes import AccountSnapshot
from chatui.audit_log.record import Visitor
from chatui.models import User
from chatui.models.accounts.closed_account import Cause
from chatui.offboarding import closing
from chatui.offboarding.closing import CannotCloseError
from chatui.permissions.access import NotFoundError
from chatui.web.visitors import visitor_of

_CAUSES = {
    Cause.STAFF: noop("by staff"),
    Cause.OPERATOR: noop("by the operator"),
    Cause.OWN: noop("by the account's owner"),
    Cause.PROVISIONING: noop("by the directory of"),
    Cause.LOGOUT: noop("by the sign-in service"),
}


class ClosingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Closes and reopens accounts that the member of staff may change; list actions skip their own account."""

    actions = ["close_accounts", "reopen_accounts"]

    @admin.action(description=_("Close the selected accounts"), permissions=["change"])
    def close_accounts(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Close the selected accounts: all access ends at once, and nothing is erased. Each is recorded."""
        closed = sum(self._close(request, person) for person in self.except_own(request, queryset))
        words = ngettext("%(count)d account was closed.", "%(count)d accounts were closed.", closed)
        messages.success(request, words % {"count": closed})

    @admin.action(description=_("Reopen the selected accounts"), permissions=["change"])
    def reopen_accounts(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Reopen the selected accounts. Each is recorded."""
        visitor = visitor_of(request, "admin")
        opened = sum(self._reopen(visitor, person) for person in self.except_own(request, queryset))
        words = ngettext("%(count)d account was reopened.", "%(count)d accounts were reopened.", opened)
        messages.success(request, words % {"count": opened})

    @admin.display(description=_("Closed"))
    def closed(self, person: User) -> str:
        """The column that says who or what closed the account."""
        found = closing.closed_by(person)
        return f"{gettext(_CAUSES[found[0]])} {found[1]}".strip() if found else "-"

    def before_recording(self, request: HttpRequest, person: User, before: AccountSnapshot) -> None:
        """Close or reopen the account if the *active* check box was changed."""
        was_active = "active" in before.states
        if was_active == person.is_active:
            return
        # The form has already changed the value; reset it, so that only the functions below change it.
        User.objects.filter(pk=person.pk).update(is_active=was_active)
        if was_active:
            self._close(request, person)
        else:
            closing.reopen_account(person, visitor_of(request, "admin"))

    def except_own(self, request: HttpRequest, queryset: QuerySet[User]) -> list[User]:
        """Those of the accounts that the member of staff may change, except their own."""
        return [person for person in queryset if person != request.user and self.has_change_permission(request, person)]

    def _reopen(self, visitor: Visitor, person: User) -> bool:
        try:
            return closing.reopen_account(person, visitor)
        except NotFoundError:
            return False

    def _close(self, request: HttpRequest, person: User) -> bool:
        try:
            return closing.close_by_staff(person, visitor_of(request, "admin"))
        except NotFoundError:
            return False  # they no longer may, or the account is gone
        except CannotCloseError:
            person.is_active = True
            words = gettext("%(name)s was not closed: nobody else could manage accounts.")
            messages.error(request, words % {"name": person.get_username()})
            return False
