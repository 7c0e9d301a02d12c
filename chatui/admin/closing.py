"""Closes and reopens accounts in the admin: as list actions, and with the *active* check box of an account's own page."""

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
from chatui.offboarding.closing import KeptOpenError
from chatui.permissions.access import NotFoundError
from chatui.web.visitors import visitor_of

_CAUSES = {
    Cause.STAFF: noop("by staff"),
    Cause.OPERATOR: noop("by the operator"),
    Cause.OWN: noop("by the person"),
    Cause.PROVISIONING: noop("by the directory of"),
    Cause.LOGOUT: noop("by the sign-in service"),
}


class ClosingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Closes and reopens accounts that the member of staff may change, but never their own from the list."""

    actions = ["close_accounts", "reopen_accounts"]

    @admin.action(description=_("Close the chosen accounts"), permissions=["change"])
    def close_accounts(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Ends all access to these accounts at once; nothing is erased. Recorded, each."""
        closed = sum(self._close(request, person) for person in self.others(request, queryset))
        words = ngettext("%(count)d account was closed.", "%(count)d accounts were closed.", closed)
        messages.success(request, words % {"count": closed})

    @admin.action(description=_("Open the chosen accounts again"), permissions=["change"])
    def reopen_accounts(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Recorded, each."""
        visitor = visitor_of(request, "admin")
        opened = sum(self._reopen(visitor, person) for person in self.others(request, queryset))
        words = ngettext("%(count)d account was opened again.", "%(count)d accounts were opened again.", opened)
        messages.success(request, words % {"count": opened})

    @admin.display(description=_("Closed"))
    def closed(self, person: User) -> str:
        """The column that shows who or what closed the account."""
        found = closing.closed_by(person)
        return f"{gettext(_CAUSES[found[0]])} {found[1]}".strip() if found else "-"

    def carry_out(self, request: HttpRequest, person: User, before: AccountSnapshot) -> None:
        """Carry out a change of the *active* check box as an ordinary closing or reopening."""
        was_active = "active" in before.states
        if was_active == person.is_active:
            return
        # Reset to the previous value, so that only one code path changes it.
        User.objects.filter(pk=person.pk).update(is_active=was_active)
        if was_active:
            self._close(request, person)
        else:
            closing.reopen_account(person, visitor_of(request, "admin"))

    def others(self, request: HttpRequest, queryset: QuerySet[User]) -> list[User]:
        """Those of them that the member of staff may change, except themselves."""
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
        except KeptOpenError:
            person.is_active = True
            words = gettext("%(name)s was not closed: nobody else could manage accounts.")
            messages.error(request, words % {"name": person.get_username()})
            return False
