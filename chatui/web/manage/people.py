"""The administration pages about people: the list, invitations, and the actions on an account."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from chatui.accounts import invitations
from chatui.accounts.mails import invitation_mails
from chatui.accounts.people import account_actions, people_list
from chatui.accounts.sign_in_rules.account_managers import LastAccountManagerError
from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.offboarding import closing
from chatui.offboarding.closing import CannotCloseError
from chatui.permissions import administration, inviting
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import Part
from chatui.web.manage.forms import GroupsForm, InviteForm
from chatui.web.manage.parts import for_part, number, page
from chatui.web.people import notify_sockets, person_of
from chatui.web.visitors import visitor_of

DONE = ("changed", "sessions", "factor", "closed", "opened")
"""The confirmations that a page may show, by the word in its address."""


@for_part(Part.PEOPLE)
def people(request: HttpRequest) -> HttpResponse:
    """The list, with search; or open invitations."""
    staff, show = person_of(request), request.GET.get("show", "")
    context: dict[str, object] = {
        "words": request.GET.get("q", "")[:150],
        "show": show,
        "may_invite": inviting.may_invite(staff, None),
        "can_see_groups": administration.may_see_groups(staff),
        "debug_groups": people_list.debug_groups() if show == "debug" else (),
    }
    if show == "invited":
        assignable_group_ids = set(administration.assignable_groups(staff).values_list("pk", flat=True))
        invited = people_list.pending_invitations()[:500]
        return page(
            request, Part.PEOPLE, "manage/invited.html", context | {"invited": invited, "assignable_group_ids": assignable_group_ids}
        )
    found = people_list.page(str(context["words"]), show if show in people_list.FILTERS else "", number(request, "page") or 1)
    return page(request, Part.PEOPLE, "manage/people.html", context | {"found": found})


@for_part(Part.PEOPLE, "GET", "POST")
def invite(request: HttpRequest) -> HttpResponse:
    """Invite one or many at once. The links are shown once, in the response to the form."""
    if not inviting.may_invite(person_of(request), None):
        raise NotFoundError
    form = InviteForm(person_of(request), request.POST if request.method == "POST" else None)
    made: list[dict[str, object]] = []
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            links = account_actions.invite(_staff(request), chosen["people"], chosen["group"], chosen["days"])
        except invitations.TooManyInvitedError as error:
            form.add_error("people", error.sentence)
            return page(request, Part.PEOPLE, "manage/invite.html", {"form": form}, 429)
        mailed = invitation_mails.send(person_of(request), links, chosen["days"]) if chosen["mails"] else set()
        made = [{"note": note, "link": request.build_absolute_uri(path), "is_mailed": note in mailed} for note, path in links]
    together = "\n".join(f"{one['note']}: {one['link']}" for one in made)
    context = {"form": form, "made": made, "together": together, "days": form.cleaned_data["days"] if made else 0}
    return page(request, Part.PEOPLE, "manage/invite.html", context)


@for_part(Part.PEOPLE, "POST")
def invitation_revoke(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    """Revoke an invitation."""
    account_actions.revoke_invitation(_staff(request), invitation_id)
    return redirect(f"{reverse('manage_people')}?show=invited")


@for_part(Part.PEOPLE)
def person(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """One account, with the actions that this member of staff may take."""
    done = request.GET.get("done", "")
    return _person(request, person_id, {"done": done if done in DONE else ""})


@for_part(Part.PEOPLE, "POST")
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


@for_part(Part.PEOPLE, "GET", "POST")
def person_close(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Explain what closing an account means, then close it."""
    account = account_actions.changeable(_staff(request), person_id)
    if not account.is_active:
        raise NotFoundError
    env = environment()
    context: dict[str, object] = {"account": account, "policy": env.closed_accounts, "days": env.closed_account_days}
    if request.method == "POST":
        try:
            closing.close_by_staff(account, _staff(request))
        except CannotCloseError:
            words = gettext("%(name)s was not closed: nobody else could manage accounts.")
            return page(request, Part.PEOPLE, "manage/close.html", context | {"problem": words % {"name": account.get_username()}}, 409)
        return _back(person_id, "closed")
    return page(request, Part.PEOPLE, "manage/close.html", context)


def _person(request: HttpRequest, person_id: UUID, context: dict[str, object], status: int = 200) -> HttpResponse:
    found = people_list.find_person(person_id)
    if found is None:
        raise NotFoundError
    account, shown = found
    staff = person_of(request)
    may_change = administration.may_change(staff, account)
    form = GroupsForm(staff, account) if may_change else None
    context |= {"account": shown, "is_own": account == staff, "may_change": may_change, "form": form, "closed": closing.closed_by(account)}
    return page(request, Part.PEOPLE, "manage/person.html", context, status)


def _back(person_id: UUID, done: str) -> HttpResponse:
    return redirect(f"{reverse('manage_person', args=[person_id])}?done={done}")


def _groups(request: HttpRequest, person_id: UUID) -> str:
    account = account_actions.changeable(_staff(request), person_id)
    form = GroupsForm(person_of(request), account, request.POST)
    if not form.is_valid():
        raise NotFoundError  # a group that was not offered
    chosen: list[Group] = list(form.cleaned_data["groups"])
    account_actions.set_groups(_staff(request), person_id, [group.pk for group in chosen], is_staff=bool(form.cleaned_data["is_staff"]))
    notify_sockets(account)
    return "changed"


def _sessions(request: HttpRequest, person_id: UUID) -> str:
    notify_sockets(account_actions.end_sessions(_staff(request), person_id))
    return "sessions"


def _factor(request: HttpRequest, person_id: UUID) -> str:
    account_actions.remove_second_factor(_staff(request), person_id)
    return "factor"


def _open(request: HttpRequest, person_id: UUID) -> str:
    closing.reopen_account(account_actions.changeable(_staff(request), person_id), _staff(request))
    return "opened"


def _staff(request: HttpRequest) -> Visitor:
    return visitor_of(request, "admin")


_ACTS = {"groups": _groups, "sessions": _sessions, "factor": _factor, "open": _open}
