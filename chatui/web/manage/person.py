"""The administration pages about one account: what it is, and each change of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts import api_keys, groups, password_links
from chatui.accounts import people as accounts_people
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.accounts.api_keys import TooManyKeysError
from chatui.accounts.forms import AccountForm
from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.lifecycle import closing
from chatui.lifecycle.closing import CannotCloseError
from chatui.lifecycle.erasure import contents_of
from chatui.lifecycle.erasure import erase as erase_person
from chatui.model_servers import choice
from chatui.permissions import administration, programs
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.proxies import public_address
from chatui.web.api_keys import KeyForm
from chatui.web.guards import visitor_of
from chatui.web.manage.groups import LAST_MANAGER, PermissionsField
from chatui.web.manage.parts import RowsField, for_part, page
from chatui.web.sign_in.pages import notify_sockets, person_of

if TYPE_CHECKING:
    from chatui.models.user import User


class _GroupsField(RowsField):
    """Shows each group with what it allows, so that nobody grants a permission without having read it."""

    def label_from_instance(self, obj: Any) -> str:
        names = [administration.name_of(each) for each in obj.permissions.all()]
        words = [gettext(each) for each, _names in administration.in_words(names)]
        return f"{obj.name}: {'; '.join(words)}" if words else str(obj.name)


class RightsForm(forms.Form):
    """The groups and own permissions of one person, among those that the member of staff may give, and whether they are staff."""

    groups = _GroupsField(label=_("Groups"), queryset=Group.objects.none(), required=False, widget=forms.CheckboxSelectMultiple)
    is_staff = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=[("on", _("Staff"))],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Permissions for the debug view, the audit log and these pages take effect for staff only."),
    )
    permissions = PermissionsField()

    def __init__(self, staff: User, account: User, *args: Any, **kwargs: Any) -> None:
        """Starts with the current values."""
        initial = {
            "groups": list(account.groups.values_list("pk", flat=True)),
            "is_staff": ["on"] if account.is_staff else [],
            "permissions": list(account.user_permissions.values_list("pk", flat=True)),
        }
        super().__init__(*args, **kwargs | {"initial": initial})
        fields: dict[str, Any] = self.fields
        fields["groups"].queryset = administration.assignable_groups(staff).prefetch_related("permissions__content_type")
        fields["permissions"].queryset = administration.group_permissions(staff)


class ConfirmNameForm(forms.Form):
    """Asks for the name of the account as confirmation."""

    name = forms.CharField(label=_("Name of the account"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, account: User, *args: Any, **kwargs: Any) -> None:
        """``account``: whose name must be typed."""
        super().__init__(*args, **kwargs)
        self._account = account

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != self._account.get_username():
            raise ValidationError(_("This is not the name of the account."))
        return name


DONE = ("changed", "sessions", "factor", "closed", "opened", "created")
"""The confirmations that a page may show, by the word in its address."""
_CAUSES = {
    "staff": _("Closed by staff"),
    "operator": _("Closed by the operator"),
    "own": _("Closed by the account's owner"),
    "provisioning": _("Closed by the directory of %(source)s"),
    "logout": _("Closed by the sign-in service %(source)s"),
}


@for_part(AdminPart.PEOPLE, "GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    """Create an account that nobody can sign in to yet: for a program, or for somebody who then gets a password link."""
    if not administration.may_invite(person_of(request), None):
        raise NotFoundError
    form = AccountForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            return _back(accounts_people.create_account(_staff(request), form.cleaned_data).pk, "created")
        except IntegrityError:
            form.refuse_name()
    return page(request, AdminPart.PEOPLE, "manage/new_person.html", {"form": form}, 400 if form.errors else 200)


@for_part(AdminPart.PEOPLE)
def person(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """One account, what it may do and why, with the actions that this member of staff may take."""
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
        return _person(request, person_id, {"problem": LAST_MANAGER}, 409)
    return _back(person_id, done)


@for_part(AdminPart.PEOPLE, "POST")
def details(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Correct the names and the address of an account."""
    form = AccountForm(request.POST, instance=accounts_people.changeable(_staff(request), person_id))
    if form.is_valid():
        try:
            accounts_people.correct(_staff(request), person_id, form.cleaned_data)
            return _back(person_id, "changed")
        except IntegrityError:
            form.refuse_name()
    return _person(request, person_id, {"details": form}, 400)


@for_part(AdminPart.PEOPLE, "GET", "POST")
def close(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Explain what closing an account means, then close it."""
    account = accounts_people.changeable(_staff(request), person_id)
    if not account.is_active:
        raise NotFoundError
    context: dict[str, object] = {"account": account, **closing_policy()}
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


def closing_policy() -> dict[str, object]:
    """What happens to closed accounts, for ``manage/_closing_policy.html``."""
    env = environment()
    return {"policy": env.closed_accounts, "days": env.closed_account_days}


@for_part(AdminPart.PEOPLE, "GET", "POST")
def password(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Explain what a password link is, then show one, once. Staff do not set passwords, because they could sign in with them."""
    account = accounts_people.changeable(_staff(request), person_id)
    context: dict[str, object] = {"account": account, "hours": password_links.LIFETIME // timedelta(hours=1)}
    if request.method == "POST":
        account, path = accounts_people.link_for_password(_staff(request), person_id, voids_password=request.POST.get("void") == "yes")
        context["link"] = public_address(request, path)
        notify_sockets(account)
    return page(request, AdminPart.PEOPLE, "manage/password_link.html", context)


@for_part(AdminPart.PEOPLE, "GET", "POST")
def key(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """A form for an API key of an account that nobody can sign in to; the answer to it shows the key, once."""
    account, maker = accounts_people.changeable(_staff(request), person_id), person_of(request)
    may_view_hidden = programs.may_read(account) and programs.may_read(maker)
    form = KeyForm(request.POST or None, choices=choice.choices_for(account), may_view_hidden=may_view_hidden)
    context = {"account": account, "form": form, "is_service_account": api_keys.is_service_account(account)}
    if request.method == "POST" and (wanted := form.wanted()) is not None:
        try:
            context["made"] = accounts_people.create_key(_staff(request), person_id, wanted)
        except TooManyKeysError:
            form.add_error(None, gettext("This account has the maximum number of keys. Revoke one that is no longer used."))
        except NotFoundError:
            form.add_error(None, gettext("No key can be created for this account here."))
    return page(request, AdminPart.PEOPLE, "manage/new_key.html", context, 400 if form.errors else 200)


@for_part(AdminPart.PEOPLE, "GET", "POST")
def erase(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Show what would be deleted, and erase it once the name has been typed."""
    found = accounts_people.find_person(person_id)
    if found is None or not administration.may_erase(person_of(request), found[0]):
        raise NotFoundError
    account = found[0]
    form = ConfirmNameForm(account, request.POST if request.method == "POST" else None)
    context: dict[str, object] = {"account": account, "contents": contents_of(account).in_words(), "form": form}
    if request.method == "POST" and form.is_valid():
        context["erased"] = erase_person(_staff(request), account)
    return page(request, AdminPart.PEOPLE, "manage/erase.html", context, 400 if form.errors else 200)


def _person(request: HttpRequest, person_id: UUID, context: dict[str, object], status: int = 200) -> HttpResponse:
    found = accounts_people.find_person(person_id)
    if found is None:
        raise NotFoundError
    account, shown = found
    staff = person_of(request)
    may_change = administration.may_change(staff, account)
    if may_change:
        context = {"details": AccountForm(instance=account), "form": RightsForm(staff, account)} | context
    context |= {
        "account": shown,
        "joined": account.date_joined,
        "address": account.email,
        "is_own": account == staff,
        "may_change": may_change,
        "may_erase": administration.may_erase(staff, account),
        "may_set_limits": administration.may_set_limits(staff),
        "is_service_account": api_keys.is_service_account(account),
        "rights": groups.rights_of(account),
        "keys": api_keys.keys_of(account),
        "may_revoke_keys": administration.may_revoke_keys(staff),
        "closed": _why_closed(account),
    }
    return page(request, AdminPart.PEOPLE, "manage/person.html", context, status)


def _why_closed(account: User) -> str:
    cause = closing.closed_by(account)
    return str(_CAUSES[cause[0]]) % {"source": cause[1]} if cause else ""


def _back(person_id: UUID, done: str) -> HttpResponse:
    return redirect(f"{reverse('manage_person', args=[person_id])}?done={done}")


def _rights(request: HttpRequest, person_id: UUID) -> str:
    account = accounts_people.changeable(_staff(request), person_id)
    form = RightsForm(person_of(request), account, request.POST)
    if not form.is_valid():
        raise NotFoundError  # something that was not offered
    chosen = {name: [row.pk for row in form.cleaned_data[name]] for name in ("groups", "permissions")}
    accounts_people.set_rights(_staff(request), person_id, **chosen, is_staff=bool(form.cleaned_data["is_staff"]))
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


_ACTS = {"groups": _rights, "sessions": _sessions, "factor": _factor, "open": _open}
