"""The administration pages about one account: what it is, and each change of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts import people as accounts_people
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.lifecycle import closing
from chatui.lifecycle.closing import CannotCloseError
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.web.guards import visitor_of
from chatui.web.manage.parts import for_part, page
from chatui.web.sign_in.pages import notify_sockets, person_of

if TYPE_CHECKING:
    from chatui.models.user import User


class _GroupsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Shows each group with its permissions, so that nobody grants one without having read it."""

    def label_from_instance(self, obj: Any) -> str:
        names = [administration.name_of(each) for each in obj.permissions.all()]
        words = [gettext(administration.DESCRIPTIONS[name]) for name in names if name in administration.DESCRIPTIONS]
        return f"{obj.name}: {'; '.join(words)}" if words else str(obj.name)


class GroupsForm(forms.Form):
    """The groups of one person, among those that the member of staff may give, and whether they are staff."""

    groups = _GroupsField(label=_("Groups"), queryset=Group.objects.none(), required=False, widget=forms.CheckboxSelectMultiple)
    is_staff = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=[("on", _("Staff"))],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Permissions for the debug view, the audit log and these pages take effect for staff only."),
    )

    def __init__(self, staff: User, account: User, *args: Any, **kwargs: Any) -> None:
        """Starts with the current values."""
        initial = {"groups": list(account.groups.values_list("pk", flat=True)), "is_staff": ["on"] if account.is_staff else []}
        super().__init__(*args, **kwargs | {"initial": initial})
        fields: dict[str, Any] = self.fields
        fields["groups"].queryset = administration.assignable_groups(staff).prefetch_related("permissions__content_type")


DONE = ("changed", "sessions", "factor", "closed", "opened")
"""The confirmations that a page may show, by the word in its address."""


@for_part(AdminPart.PEOPLE)
def person(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """One account, with the actions that this member of staff may take."""
    done = request.GET.get("done", "")
    return _person(request, person_id, {"done": done if done in DONE else ""})


@for_part(AdminPart.PEOPLE, "POST")
def act(request: HttpRequest, person_id: UUID, what: str) -> HttpResponse:
    """One change of an account, recorded in the audit log."""
    change = _ACTS.get(what)
    if change is None:
        raise NotFoundError
    try:
        done = change(request, person_id)
    except LastAccountManagerError:
        return _person(request, person_id, {"problem": gettext("Nothing was changed: nobody else could manage accounts.")}, 409)
    return _back(person_id, done)


@for_part(AdminPart.PEOPLE, "GET", "POST")
def close(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Explain what closing an account means, then close it."""
    account = accounts_people.changeable(_staff(request), person_id)
    if not account.is_active:
        raise NotFoundError
    env = environment()
    context: dict[str, object] = {"account": account, "policy": env.closed_accounts, "days": env.closed_account_days}
    if request.method == "POST":
        try:
            closing.close_by_staff(account, _staff(request))
        except CannotCloseError:
            words = gettext("%(name)s was not closed: nobody else could manage accounts.")
            return page(
                request, AdminPart.PEOPLE, "manage/close.html", context | {"problem": words % {"name": account.get_username()}}, 409
            )
        return _back(person_id, "closed")
    return page(request, AdminPart.PEOPLE, "manage/close.html", context)


def _person(request: HttpRequest, person_id: UUID, context: dict[str, object], status: int = 200) -> HttpResponse:
    found = accounts_people.find_person(person_id)
    if found is None:
        raise NotFoundError
    account, shown = found
    staff = person_of(request)
    may_change = administration.may_change(staff, account)
    form = GroupsForm(staff, account) if may_change else None
    context |= {"account": shown, "is_own": account == staff, "may_change": may_change, "form": form, "closed": closing.closed_by(account)}
    return page(request, AdminPart.PEOPLE, "manage/person.html", context, status)


def _back(person_id: UUID, done: str) -> HttpResponse:
    return redirect(f"{reverse('manage_person', args=[person_id])}?done={done}")


def _groups(request: HttpRequest, person_id: UUID) -> str:
    account = accounts_people.changeable(_staff(request), person_id)
    form = GroupsForm(person_of(request), account, request.POST)
    if not form.is_valid():
        raise NotFoundError  # a group that was not offered
    chosen: list[Group] = list(form.cleaned_data["groups"])
    accounts_people.set_groups(_staff(request), person_id, [group.pk for group in chosen], is_staff=bool(form.cleaned_data["is_staff"]))
    notify_sockets(account)
    return "changed"


def _sessions(request: HttpRequest, person_id: UUID) -> str:
    notify_sockets(accounts_people.end_sessions(_staff(request), person_id))
    return "sessions"


def _factor(request: HttpRequest, person_id: UUID) -> str:
    accounts_people.remove_second_factor(_staff(request), person_id)
    return "factor"


def _open(request: HttpRequest, person_id: UUID) -> str:
    closing.reopen_account(accounts_people.changeable(_staff(request), person_id), _staff(request))
    return "opened"


def _staff(request: HttpRequest) -> Visitor:
    return visitor_of(request, "admin")


_ACTS = {"groups": _groups, "sessions": _sessions, "factor": _factor, "open": _open}
