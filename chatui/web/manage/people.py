"""The administration pages about people: the list, invitations and API keys, with what is done to several people at once."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chatui.accounts import api_keys, invitations, mail
from chatui.accounts import people as accounts_people
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.audit_log.record import Visitor
from chatui.lifecycle import closing
from chatui.lifecycle.closing import CannotCloseError
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.proxies import public_address
from chatui.web import lists
from chatui.web.guards import visitor_of
from chatui.web.manage.parts import for_part, page
from chatui.web.manage.person import closing_policy
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


@for_part(AdminPart.PEOPLE, "GET", "POST")
def people(request: HttpRequest) -> HttpResponse:
    """The list, with search, and what can be done to several people at once; or invitations."""
    if request.method == "POST":
        return _act(request)
    staff, show = person_of(request), request.GET.get("show", "")
    context: dict[str, object] = {"words": request.GET.get("q", "")[:150], **_menu(request, show)}
    if show == "invited":
        assignable_group_ids = set(administration.assignable_groups(staff).values_list("pk", flat=True))
        invited, ended = accounts_people.pending_invitations()[:500], accounts_people.ended_invitations()[:100]
        return page(
            request,
            AdminPart.PEOPLE,
            "manage/invited.html",
            context | {"invited": invited, "ended": ended, "assignable_group_ids": assignable_group_ids},
        )
    found = accounts_people.page(str(context["words"]), show if show in accounts_people.FILTERS else "", lists.number(request, "page") or 1)
    context |= {
        "found": found,
        "debug_groups": accounts_people.debug_groups() if show == "debug" else (),
        "changeable_ids": administration.changeable_accounts(staff, [each.id for each in found.object_list]),
        "assignable_groups": administration.assignable_groups(staff),
        "changed": lists.number(request, "changed"),
        "unchanged": lists.number(request, "unchanged") or 0,
    }
    return page(request, AdminPart.PEOPLE, "manage/people.html", context)


@for_part(AdminPart.PEOPLE)
def keys(request: HttpRequest) -> HttpResponse:
    """Everybody's API keys, without the keys."""
    words = request.GET.get("q", "")[:150]
    found = api_keys.everybodys(words, lists.number(request, "page") or 1)
    context = {"words": words, "found": found, "may_revoke": administration.may_revoke_keys(person_of(request))}
    return page(request, AdminPart.PEOPLE, "manage/keys.html", context | _menu(request, "keys"))


@for_part(AdminPart.PEOPLE, "POST")
def key_revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Revoke somebody's API key, and return to the list or to the page of its owner."""
    api_keys.revoke_somebodys(_staff(request), key_id)
    person_id = request.POST.get("person", "")
    return redirect("manage_person", UUID(person_id)) if accounts_people.is_key(person_id) else redirect("manage_keys")


def _menu(request: HttpRequest, show: str) -> dict[str, object]:
    """What ``manage/_people_menu.html`` needs."""
    staff = person_of(request)
    return {
        "show": show,
        "may_invite": administration.may_invite(staff, None),
        "can_see_groups": administration.may_see_groups(staff),
    }


def _act(request: HttpRequest) -> HttpResponse:
    """Do the same to each of the chosen accounts, in a transaction of its own: one for all would block everybody's writes.

    Closing is explained first. Accounts that the member of staff may not change, or that must stay as they are, are counted.
    """
    act = _ACTS.get(request.POST.get("what", ""))
    chosen = [UUID(each) for each in request.POST.getlist("person") if accounts_people.is_key(each)][: accounts_people.PAGE]
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


def _close(request: HttpRequest, person_id: UUID) -> bool:
    return closing.close_by_staff(accounts_people.changeable(_staff(request), person_id), _staff(request))


def _open(request: HttpRequest, person_id: UUID) -> bool:
    return closing.reopen_account(accounts_people.changeable(_staff(request), person_id), _staff(request))


def _sign_out(request: HttpRequest, person_id: UUID) -> bool:
    notify_sockets(accounts_people.end_sessions(_staff(request), person_id))
    return True


def _add(request: HttpRequest, person_id: UUID) -> bool:
    number = request.POST.get("group", "")
    group = (
        administration.assignable_groups(person_of(request)).filter(pk=int(number)).first()
        if number.isdecimal() and len(number) < 10
        else None
    )
    if group is None:
        raise NotFoundError
    notify_sockets(accounts_people.set_member(_staff(request), person_id, group, is_in=True))
    return True


_ACTS = {"close": _close, "open": _open, "sessions": _sign_out, "add": _add}


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


def _staff(request: HttpRequest) -> Visitor:
    return visitor_of(request, "admin")
