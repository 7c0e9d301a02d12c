"""The administration pages about people, with their forms: the list, invitations, and the actions on an account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts import groups as accounts_groups
from chatui.accounts import invitations, mail
from chatui.accounts import people as accounts_people
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.lifecycle import closing
from chatui.lifecycle.closing import CannotCloseError
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.proxies import public_address
from chatui.web import lists
from chatui.web.guards import visitor_of
from chatui.web.manage.parts import for_part, page
from chatui.web.sign_in.pages import notify_sockets, person_of

if TYPE_CHECKING:
    from chatui.models.user import User


_NOTE_CHARS = 100


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
        if len(notes) > accounts_people.MAX_INVITED:
            raise ValidationError(_("Invite at most %(count)s people at once."), params={"count": accounts_people.MAX_INVITED})
        if any(len(note) > _NOTE_CHARS or not note.isprintable() for note in notes):
            raise ValidationError(_("A name or address can have at most 100 characters."))
        return notes


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


class _PermissionsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return gettext(administration.DESCRIPTIONS[administration.name_of(obj)])


class NewGroupForm(forms.Form):
    """A new group: its name, and which of the staff member's own permissions it gives."""

    name = forms.CharField(label=_("Name"), max_length=150)
    permissions = _PermissionsField(
        label=_("Permissions"), queryset=Permission.objects.none(), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, staff: User, *args: Any, **kwargs: Any) -> None:
        """Offers only the permissions of the member of staff."""
        super().__init__(*args, **kwargs)
        self._staff = staff
        fields: dict[str, Any] = self.fields
        fields["permissions"].queryset = administration.group_permissions(staff)

    def clean_name(self) -> str:
        """Checks that the member of staff can give a new group this name."""
        name: str = self.cleaned_data["name"]
        if why := accounts_groups.problem_with_new_name(self._staff, name):
            raise ValidationError(why)
        return name


DONE = ("changed", "sessions", "factor", "closed", "opened")
"""The confirmations that a page may show, by the word in its address."""


@for_part(AdminPart.PEOPLE)
def people(request: HttpRequest) -> HttpResponse:
    """The list, with search; or open invitations."""
    staff, show = person_of(request), request.GET.get("show", "")
    context: dict[str, object] = {
        "words": request.GET.get("q", "")[:150],
        "show": show,
        "may_invite": administration.may_invite(staff, None),
        "can_see_groups": administration.may_see_groups(staff),
        "debug_groups": accounts_people.debug_groups() if show == "debug" else (),
    }
    if show == "invited":
        assignable_group_ids = set(administration.assignable_groups(staff).values_list("pk", flat=True))
        invited = accounts_people.pending_invitations()[:500]
        return page(
            request, AdminPart.PEOPLE, "manage/invited.html", context | {"invited": invited, "assignable_group_ids": assignable_group_ids}
        )
    found = accounts_people.page(str(context["words"]), show if show in accounts_people.FILTERS else "", lists.number(request, "page") or 1)
    return page(request, AdminPart.PEOPLE, "manage/people.html", context | {"found": found})


@for_part(AdminPart.PEOPLE, "GET", "POST")
def invite(request: HttpRequest) -> HttpResponse:
    """Invite one or many at once. The links are shown once, in the response to the form."""
    if not administration.may_invite(person_of(request), None):
        raise NotFoundError
    form = InviteForm(person_of(request), request.POST if request.method == "POST" else None)
    made: list[dict[str, object]] = []
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            links = accounts_people.invite(_staff(request), chosen["people"], chosen["group"], chosen["days"])
        except invitations.TooManyInvitedError as error:
            form.add_error("people", error.sentence)
            return page(request, AdminPart.PEOPLE, "manage/invite.html", {"form": form}, 429)
        mailed = invitations.send(person_of(request), links, chosen["days"]) if chosen["mails"] else set()
        made = [{"note": note, "link": public_address(request, path), "is_mailed": note in mailed} for note, path in links]
    together = "\n".join(f"{one['note']}: {one['link']}" for one in made)
    context = {"form": form, "made": made, "together": together, "days": form.cleaned_data["days"] if made else 0}
    return page(request, AdminPart.PEOPLE, "manage/invite.html", context)


@for_part(AdminPart.PEOPLE, "POST")
def invitation_revoke(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    accounts_people.revoke_invitation(_staff(request), invitation_id)
    return redirect(f"{reverse('manage_people')}?show=invited")


@for_part(AdminPart.PEOPLE)
def person(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """One account, with the actions that this member of staff may take."""
    done = request.GET.get("done", "")
    return _person(request, person_id, {"done": done if done in DONE else ""})


@for_part(AdminPart.PEOPLE, "POST")
def person_act(request: HttpRequest, person_id: UUID, what: str) -> HttpResponse:
    """One change of an account, recorded in the audit log."""
    act = _ACTS.get(what)
    if act is None:
        raise NotFoundError
    try:
        done = act(request, person_id)
    except LastAccountManagerError:
        return _person(request, person_id, {"problem": gettext("Nothing was changed: nobody else could manage accounts.")}, 409)
    return _back(person_id, done)


@for_part(AdminPart.PEOPLE, "GET", "POST")
def person_close(request: HttpRequest, person_id: UUID) -> HttpResponse:
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
