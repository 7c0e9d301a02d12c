"""What the administration pages share: the check of who may see a part, the layout with its menu, and lists with a form that filters them.

Files are sent by ``downloads.streamed``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import urlencode

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.web.guards import View, person_of, signed_in

if TYPE_CHECKING:
    from chatui.models.user import User

Shown = dict[str, Any] | HttpResponseBase
ListView = Callable[[HttpRequest, Any], Shown]

PARTS = {
    AdminPart.PEOPLE: (_("People"), "manage_people"),
    AdminPart.USAGE: (_("Everybody’s usage"), "usage_everybody"),
    AdminPart.LIMITS: (_("Limits and prices"), "manage_limits"),
    AdminPart.SERVERS: (_("Model servers"), "manage_servers"),
    AdminPart.TOOLS: (_("Tools"), "manage_tools"),
    AdminPart.FAILURES: (_("Failed answers"), "manage_failures"),
    AdminPart.RATINGS: (_("Ratings"), "ratings"),
    AdminPart.CONVERSATIONS: (_("Conversations"), "manage_conversations"),
    AdminPart.REQUESTS: (_("Debug requests"), "debug_requests"),
    AdminPart.DEBUG_VIEWS: (_("Debug views"), "manage_debug_views"),
    AdminPart.AUDIT: (_("Audit log"), "audit"),
    AdminPart.SETTINGS: (_("Current settings"), "manage_settings"),
    AdminPart.SYSTEM: (_("System"), "manage_system"),
}
"""For each part its name, in the menu and as the heading of the page, and that of its address."""

_MENU = (
    (_("People and usage"), (AdminPart.PEOPLE, AdminPart.USAGE, AdminPart.LIMITS)),
    (_("Models"), (AdminPart.SERVERS, AdminPart.TOOLS, AdminPart.FAILURES, AdminPart.RATINGS)),
    (_("Oversight"), (AdminPart.CONVERSATIONS, AdminPart.REQUESTS, AdminPart.DEBUG_VIEWS, AdminPart.AUDIT)),
    (_("Installation"), (AdminPart.SETTINGS, AdminPart.SYSTEM)),
)
"""The groups of the menu, below the overview."""

DONE = {
    "account-closed": _("The account of %(name)s is closed."),
    "account-created": _("The account of %(name)s is created."),
    "account-open": _("The account of %(name)s is open again."),
    "debug-approved": _("The debug request is approved: the view is open for the person who asked."),
    "debug-declined": _("The debug request is declined."),
    "details-saved": _("The details of %(name)s are saved."),
    "factor-removed": _("The second factor of %(name)s is removed."),
    "factor-not-required": _("Members of the group %(name)s no longer need a second factor."),
    "factor-required": _("Members of the group %(name)s now need a second factor."),
    "group-changed": _("The group %(name)s is changed."),
    "group-created": _("The group %(name)s is created."),
    "group-deleted": _("The group %(name)s is deleted."),
    "invitation-revoked": _("The invitation is revoked: its link no longer works."),
    "key-revoked": _("The API key of %(name)s is revoked: programs can no longer use it."),
    "limit-deleted": _("The limit is deleted: %(name)s."),
    "limit-saved": _("The limit is saved: %(name)s."),
    "member-in": _("%(name)s is now a member of this group."),
    "member-out": _("%(name)s is no longer a member of this group."),
    "permissions-changed": _("The permissions of %(name)s are changed."),
    "price-deleted": _("The price is deleted: %(name)s."),
    "price-saved": _("The price is saved: %(name)s."),
    "server-confirmed": _("%(name)s is confirmed. It is not offered to people."),
    "server-in-groups": _("%(name)s is now offered to the members of its groups."),
    "server-models": _("The models of %(name)s are saved."),
    "server-offered": _("%(name)s is now offered to everybody."),
    "server-paused": _("%(name)s is paused: nobody can choose it."),
    "server-removed": _("%(name)s is removed, with its settings and its key."),
    "server-saved": _("%(name)s is saved. It is not offered to people."),
    "server-settings": _("The settings of %(name)s are saved."),
    "server-waits": _("%(name)s is saved. It is offered to nobody until somebody who may see hidden channels confirms it."),
    "sessions-ended": _("%(name)s is signed out in all browsers."),
    "search-off": _("Models can no longer search the web."),
    "search-saved": _("The search engine %(name)s is saved."),
    "tool-server-connected": _("%(name)s is connected. Choose now which of its tools to offer."),
    "tool-server-off": _("%(name)s is switched off: nobody gets its tools."),
    "tool-server-on": _("%(name)s is switched on."),
    "tool-server-removed": _("%(name)s is removed, with its key."),
    "tool-server-saved": _("The settings of %(name)s are saved. Its tools may have to be confirmed again."),
    "tool-server-tools": _("The tools of %(name)s are chosen. Nobody gets one until it is confirmed."),
    "tool-withdrawn": _("The confirmation of %(name)s is withdrawn: nobody gets it any more."),
    "tools-confirmed": _("Confirmed: %(name)s."),
    "tool-off": _("“%(name)s” is off."),
    "tool-on": _("“%(name)s” is on."),
    "warning-acknowledged": _("The warning is acknowledged."),
}
"""What a page says after each action, in the words of its button or its state. ``name``: what it was done to."""
_DONE_LASTS = 600


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Some of the offered rows. A key that no column could hold is no row of them, instead of an error of the database."""

    def clean(self, value: Any) -> Any:
        try:
            return super().clean(value)
        except OverflowError:
            raise ValidationError(self.error_messages["invalid_pk_value"], code="invalid_pk_value", params={"pk": "…"}) from None


def for_part(part: AdminPart | None, *methods: str, may: Callable[[User], bool] = lambda staff: True) -> Callable[[View], View]:
    """Guards a view of that part, for staff who ``may``: 404 for people who may not see it. Without a part: for those who may see any."""

    def decorate(view: View) -> View:
        @signed_in(*(methods or ("GET",)))
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not may(administration.require_part(person_of(request), part)):
                raise NotFoundError
            return view(request, *args, **kwargs)

        return answer

    return decorate


def page(request: HttpRequest, part: AdminPart | None, template: str, context: dict[str, object], status: int = 200) -> HttpResponse:
    """A page with the menu of the parts that this person may see."""
    seen = administration.parts_of(person_of(request))
    groups = ((words, [(*PARTS[each], each is part) for each in parts if each in seen]) for words, parts in _MENU)
    here = PARTS[part][0] if part else _("Administration")
    shown = {"menu": [group for group in groups if group[1]], "here": here, "done": said_done(request)}
    return render(request, template, {**shown, **context}, status=status)


def done(what: str, name: object, address: str, *args: object, part: str = "", **query: str) -> HttpResponse:
    """Redirect to a page, or a ``part`` of it, that then says what was done: ``what`` of DONE, and to which ``name``.

    It is signed: no link of anybody else's makes a page say that something was done.
    """
    signed = signing.dumps([what, str(name)], salt="chatui.done", compress=True)
    return redirect(f"{reverse(address, args=args)}?{urlencode({'done': signed, **query})}{part}")


def said_done(request: HttpRequest) -> str:
    """The sentence about what ``done`` redirected for; empty without it, and after ten minutes."""
    try:
        what, name = signing.loads(request.GET.get("done", ""), salt="chatui.done", max_age=_DONE_LASTS)
    except (signing.BadSignature, ValueError):
        return ""
    return str(DONE[what]) % {"name": name} if what in DONE else ""


def list_page(part: AdminPart, template: str, form_class: type[forms.Form]) -> Callable[[ListView], View]:
    """A page with a list, which the form in its address filters. The view is given the form, which may have mistakes, and returns what the
    template shows beside it, or another page."""

    def decorate(view: ListView) -> View:
        @for_part(part)
        @wraps(view)
        def answer(request: HttpRequest) -> HttpResponseBase:
            form = form_class(request.GET)
            shown = view(request, form)
            if isinstance(shown, HttpResponseBase):
                return shown
            return page(request, part, template, {"form": form, **shown}, 400 if form.errors else 200)

        return answer

    return decorate


class Period(TypedDict):
    """The time from ``since`` until before ``before`` (UTC); None is without limit."""

    since: datetime | None
    before: datetime | None


class DaysForm(forms.Form):
    """A first and a last day, which both may be empty."""

    since = forms.DateField(label=_("From day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def period(self) -> Period:
        """The chosen days of a valid form. Days are whole days, the last one included."""
        since, until = self.cleaned_data["since"], self.cleaned_data["until"]
        return {
            "since": datetime.combine(since, time.min, UTC) if since else None,
            "before": datetime.combine(until + timedelta(days=1), time.min, UTC) if until and until < date.max else None,
        }


def words_of(request: HttpRequest, name: str = "q", most: int = 150) -> str:
    return request.GET.get(name, "").replace("\0", "")[:most]
