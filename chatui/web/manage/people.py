"""The administration pages about people: the list, invitations, API keys, and each account with every change of it.

Some things are done to several people at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
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

from chatui.accounts import api_keys, groups, invitations, mail, password_links
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
from chatui.permissions.access import NotFoundError, existing, key_in
from chatui.permissions.administration import AdminPart
from chatui.proxies import is_only_here, public_address
from chatui.web.api_keys import KeyForm
from chatui.web.guards import notify_sockets, number, person_of, visitor_of
from chatui.web.manage.groups import LAST_MANAGER, PermissionsField
from chatui.web.manage.parts import RowsField, done, for_part, page, words_of

if TYPE_CHECKING:
    from chatui.models.user import User


_NOTE_CHARS = 100


def _may_invite(staff: User) -> bool:
    return administration.may_invite(staff, None)


def _staff(request: HttpRequest) -> Visitor:
    return visitor_of(request, "admin")


class InviteForm(forms.Form):
    """Whom to invite, one on each line or with commas between them, into which group, and for how long."""

    people = forms.CharField(
        label=_("Whom to invite"),
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocapitalize": "off"}),
        help_text=_("One name or e-mail address per line. Each person gets their own link."),
        max_length=20_000,
    )
    group = forms.ModelChoiceField(label=_("Group"), queryset=Group.objects.none(), required=False, empty_label=_("No group"))
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=invitations.MAX_DAYS, initial=7)

    mails = forms.BooleanField(label=_("Send the link by e-mail to everyone listed by address"), required=False, initial=True)

    def __init__(self, staff: User, *args: Any, **kwargs: Any) -> None:
        """Offers only groups whose permissions the member of staff has, too, and mail only if it is configured."""
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["group"].queryset = administration.assignable_groups(staff)
        if not mail.can_send_links():
            del fields["mails"]

    def clean(self) -> dict[str, Any]:
        """Without configured mail, none is sent."""
        return {"mails": False} | (super().clean() or self.cleaned_data)

    def clean_people(self) -> list[str]:
        """The people, each once, without empty lines."""
        text = self.cleaned_data["people"].replace(",", "\n").replace(";", "\n")
        notes = list(dict.fromkeys(" ".join(line.split()) for line in text.splitlines() if line.strip()))
        if len(notes) > invitations.MAX_INVITED:
            raise ValidationError(_("Invite at most %(count)s people at once."), params={"count": invitations.MAX_INVITED})
        if any(len(note) > _NOTE_CHARS or not note.isprintable() for note in notes):
            raise ValidationError(_("A name or address can have at most 100 characters."))
        return notes


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
        initial = {
            "groups": list(account.groups.values_list("pk", flat=True)),
            "is_staff": ["on"] if account.is_staff else [],
            "permissions": list(account.user_permissions.values_list("pk", flat=True)),
        }
        super().__init__(*args, **kwargs | {"initial": initial})
        fields: dict[str, Any] = self.fields
        if (offered := administration.assignable_groups(staff)).exists():
            fields["groups"].queryset = offered.prefetch_related("permissions__content_type")
        else:
            del fields["groups"]
        fields["permissions"].queryset = administration.group_permissions(staff)


class ConfirmNameForm(forms.Form):
    name = forms.CharField(label=_("Name of the account"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, account: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._account = account

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != self._account.get_username():
            raise ValidationError(_("This is not the name of the account."))
        return name


_CAUSES = {
    "staff": _("Closed by staff"),
    "operator": _("Closed by the operator"),
    "own": _("Closed by the account's owner"),
    "provisioning": _("Closed by the directory of %(source)s"),
    "logout": _("Closed by the sign-in service %(source)s"),
}


@for_part(AdminPart.PEOPLE, "GET", "POST")
def people(request: HttpRequest) -> HttpResponse:
    """The list, with search, and what can be done to several people at once; or invitations."""
    if request.method == "POST":
        return _act(request)
    staff, show = person_of(request), request.GET.get("show", "")
    context: dict[str, object] = {"words": words_of(request), **_menu(request, show)}
    if show == "invited":
        assignable_group_ids = set(administration.assignable_groups(staff).values_list("pk", flat=True))
        invited, ended = invitations.pending()[:500], invitations.ended()[:100]
        return page(
            request,
            AdminPart.PEOPLE,
            "manage/invited.html",
            context | {"invited": invited, "ended": ended, "assignable_group_ids": assignable_group_ids},
        )
    found = accounts_people.page(str(context["words"]), show, number(request.GET.get("page"), 1))
    context |= {
        "found": found,
        "debug_groups": accounts_people.debug_groups() if show == "debug" else (),
        "changeable_ids": administration.changeable_accounts(staff, [each.id for each in found.object_list]),
        "assignable_groups": administration.assignable_groups(staff),
        "changed": number(request.GET.get("changed"), None),
        "unchanged": number(request.GET.get("unchanged"), 0),
    }
    return page(request, AdminPart.PEOPLE, "manage/people.html", context)


@for_part(AdminPart.PEOPLE)
def keys(request: HttpRequest) -> HttpResponse:
    words = words_of(request)
    found = api_keys.everybodys(words, number(request.GET.get("page"), 1))
    context = {"words": words, "found": found, "may_revoke": administration.may_revoke_keys(person_of(request))}
    return page(request, AdminPart.PEOPLE, "manage/keys.html", context | _menu(request, "keys"))


@for_part(AdminPart.PEOPLE, "POST")
def key_revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Revoke somebody's API key, and return to the list or to the page of its owner."""
    owner = api_keys.revoke_somebodys(_staff(request), key_id)
    person_id = key_in(request.POST.get("person"))
    at = ("manage_person", person_id) if person_id else ("manage_keys",)
    return done("key-revoked", owner.get_username(), *at)


def _menu(request: HttpRequest, show: str) -> dict[str, object]:
    """What ``manage/_people_menu.html`` needs."""
    staff = person_of(request)
    return {
        "show": show,
        "may_invite": _may_invite(staff),
        "can_see_groups": administration.may_see_groups(staff),
    }


def _act(request: HttpRequest) -> HttpResponse:
    """Do the same to each of the chosen accounts, in a transaction of its own: one for all would block everybody's writes.

    Closing is explained first. Accounts that the member of staff may not change, or that must stay as they are, are counted.
    """
    act = _OF_SEVERAL.get(request.POST.get("what", ""))
    chosen = list(filter(None, map(key_in, request.POST.getlist("person"))))[: accounts_people.PAGE]
    if act is None:
        raise NotFoundError
    if act is _close and "sure" not in request.POST and chosen:
        accounts = [shown for _row, shown in filter(None, map(accounts_people.find_person, chosen))]
        return page(request, AdminPart.PEOPLE, "manage/close_several.html", {"accounts": accounts, **closing_policy()})
    changed = 0
    for person_id in chosen:
        with contextlib.suppress(NotFoundError, LastAccountManagerError, CannotCloseError):
            changed += act(request, person_id)
    shown = {name: request.POST[name][:150] for name in ("q", "show") if request.POST.get(name)}
    return redirect(f"{reverse('manage_people')}?{urlencode({**shown, 'changed': changed, 'unchanged': len(chosen) - changed})}")


@for_part(AdminPart.PEOPLE, "GET", "POST", may=_may_invite)
def invite(request: HttpRequest) -> HttpResponse:
    """Invite one or many at once. The links are shown once, in the response to the form."""
    form = InviteForm(person_of(request), request.POST if request.method == "POST" else None)
    made: list[dict[str, object]] = []
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            links = invitations.invite(_staff(request), chosen["people"], chosen["group"], chosen["days"])
        except invitations.TooManyInvitedError as error:
            form.add_error("people", error.sentence)
            return page(request, AdminPart.PEOPLE, "manage/invite.html", {"form": form}, 429)
        mailed = invitations.send(person_of(request), links, chosen["days"]) if chosen["mails"] else set()
        made = [{"note": note, "link": public_address(request, path), "is_mailed": note in mailed} for note, path in links]
    together = "\n".join(f"{one['note']}: {one['link']}" for one in made)
    context = {"form": form, "made": made, "together": together, "days": form.cleaned_data["days"] if made else 0}
    context["is_only_here"] = is_only_here(request)
    return page(request, AdminPart.PEOPLE, "manage/invite.html", context)


@for_part(AdminPart.PEOPLE, "POST")
def invitation_revoke(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    invitations.revoke(_staff(request), invitation_id)
    return done("invitation-revoked", "", "manage_people", show="invited")


@for_part(AdminPart.PEOPLE, "GET", "POST", may=_may_invite)
def new(request: HttpRequest) -> HttpResponse:
    """Create an account that nobody can sign in to yet: for a program, or for somebody who then gets a password link."""
    form = AccountForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            made = accounts_people.create_account(_staff(request), form.cleaned_data)
            return done("account-created", made.get_username(), "manage_person", made.pk)
        except IntegrityError:
            form.refuse_name()
    return page(request, AdminPart.PEOPLE, "manage/new_person.html", {"form": form}, 400 if form.errors else 200)


@for_part(AdminPart.PEOPLE)
def person(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """One account, what it may do and why, with the actions that this member of staff may take."""
    return _person(request, person_id, {})


@for_part(AdminPart.PEOPLE, "POST")
def act(request: HttpRequest, person_id: UUID, what: str) -> HttpResponse:
    """One change of an account, recorded in the audit log."""
    if what not in _OF_ONE:
        raise NotFoundError
    if what == "role" and (question := _asks_for_administrator(request, person_id)):
        return question
    try:
        outcome, change = _OF_ONE[what]
        change(request, person_id)
    except LastAccountManagerError:
        return _person(request, person_id, {"problem": LAST_MANAGER}, 409)
    return _done(outcome, person_id)


@for_part(AdminPart.PEOPLE, "POST")
def details(request: HttpRequest, person_id: UUID) -> HttpResponse:
    form = AccountForm(request.POST, instance=accounts_people.changeable(_staff(request), person_id))
    if form.is_valid():
        try:
            accounts_people.correct(_staff(request), person_id, form.cleaned_data)
            return _done("details-saved", person_id)
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
        return _done("account-closed", person_id)
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
        context |= {"link": public_address(request, path), "is_only_here": is_only_here(request)}
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
    account, _shown = existing(accounts_people.find_person(person_id))
    if not administration.may_erase(person_of(request), account):
        raise NotFoundError
    form = ConfirmNameForm(account, request.POST if request.method == "POST" else None)
    context: dict[str, object] = {"account": account, "contents": contents_of(account).in_words(), "form": form}
    if request.method == "POST" and form.is_valid():
        context["erased"] = erase_person(_staff(request), account)
    return page(request, AdminPart.PEOPLE, "manage/erase.html", context, 400 if form.errors else 200)


def _done(what: str, person_id: UUID) -> HttpResponse:
    account, _shown = existing(accounts_people.find_person(person_id))
    return done(what, account.get_username(), "manage_person", person_id)


def _person(request: HttpRequest, person_id: UUID, context: dict[str, object], status: int = 200) -> HttpResponse:
    account, shown = existing(accounts_people.find_person(person_id))
    staff = person_of(request)
    may_change = administration.may_change(staff, account)
    if may_change:
        context = {"details": AccountForm(instance=account), "form": RightsForm(staff, account)} | context
        context["roles"] = accounts_people.roles_of(staff, account)
    invitation = invitations.of_account(account)
    context |= {
        "account": shown,
        "joined": account.date_joined,
        "address": account.email,
        "invitation": invitation,
        "invited_address": "" if account.email else invitations.address_of(invitation),
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


def _rights(request: HttpRequest, person_id: UUID) -> bool:
    account = accounts_people.changeable(_staff(request), person_id)
    form = RightsForm(person_of(request), account, request.POST)
    if not form.is_valid():
        raise NotFoundError  # something that was not offered
    chosen = {name: [row.pk for row in form.cleaned_data.get(name, ())] for name in ("groups", "permissions")}
    accounts_people.set_rights(_staff(request), person_id, **chosen, is_staff=bool(form.cleaned_data["is_staff"]))
    notify_sockets(account)
    return True


def _asks_for_administrator(request: HttpRequest, person_id: UUID) -> HttpResponse | None:
    """A page that says what an administrator may do, before somebody becomes one."""
    if request.POST.get("role") != administration.ADMINISTRATOR or request.POST.get("given") != "on" or "sure" in request.POST:
        return None
    account, staff = accounts_people.changeable(_staff(request), person_id), person_of(request)
    roles = administration.roles_for(staff)
    names = existing(next((role.permissions for role in roles if role.key == administration.ADMINISTRATOR), None))
    context = {
        "account": account,
        "rights": [gettext(each) for each, _names in administration.in_words(names)],
        "sees_hidden": "chatui.view_hidden_channels" in names,
        "sees_others": "chatui.view_any_conversation" in names,
    }
    return page(request, AdminPart.PEOPLE, "manage/administrator.html", context)


def _role(request: HttpRequest, person_id: UUID) -> bool:
    if (given := request.POST.get("given")) not in ("on", "off"):
        raise NotFoundError
    notify_sockets(accounts_people.set_role(_staff(request), person_id, request.POST.get("role", ""), is_given=given == "on"))
    return True


def _superuser(request: HttpRequest, person_id: UUID) -> bool:
    notify_sockets(accounts_people.end_superuser(_staff(request), person_id))
    return True


def _address(request: HttpRequest, person_id: UUID) -> bool:
    """Staff decide that an account has the address that it was invited by."""
    account = accounts_people.changeable(_staff(request), person_id)
    address = invitations.address_of(invitations.of_account(account))
    if not address or account.email:
        raise NotFoundError
    accounts_people.correct(_staff(request), person_id, {"email": address})
    return True


def _sessions(request: HttpRequest, person_id: UUID) -> bool:
    notify_sockets(accounts_people.end_sessions(_staff(request), person_id))
    return True


def _factor(request: HttpRequest, person_id: UUID) -> bool:
    accounts_people.remove_second_factor(_staff(request), person_id)
    return True


def _open(request: HttpRequest, person_id: UUID) -> bool:
    return closing.reopen_account(accounts_people.changeable(_staff(request), person_id), _staff(request))


def _close(request: HttpRequest, person_id: UUID) -> bool:
    return closing.close_by_staff(accounts_people.changeable(_staff(request), person_id), _staff(request))


def _add(request: HttpRequest, person_id: UUID) -> bool:
    group = existing(administration.assignable_groups(person_of(request)).filter(pk=number(request.POST.get("group"), 0)).first())
    notify_sockets(accounts_people.set_member(_staff(request), person_id, group, is_in=True))
    return True


Change = Callable[[HttpRequest, UUID], bool]
_OF_ONE: dict[str, tuple[str, Change]] = {
    "groups": ("permissions-changed", _rights),
    "role": ("permissions-changed", _role),
    "superuser": ("permissions-changed", _superuser),
    "address": ("details-saved", _address),
    "sessions": ("sessions-ended", _sessions),
    "factor": ("factor-removed", _factor),
    "open": ("account-open", _open),
}
"""What is changed on the page of an account without further questions, and what the page then says."""
_OF_SEVERAL: dict[str, Change] = {"close": _close, "open": _open, "sessions": _sessions, "add": _add}
"""What can be done to several accounts at once. Each returns whether anything has changed."""
