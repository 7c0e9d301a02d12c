"""The administration pages about people: the list and invitations, with their forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chatui.accounts import invitations, mail
from chatui.accounts import people as accounts_people
from chatui.audit_log.record import Visitor
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.proxies import public_address
from chatui.web import lists
from chatui.web.guards import visitor_of
from chatui.web.manage.parts import for_part, page
from chatui.web.sign_in.pages import person_of

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


def _staff(request: HttpRequest) -> Visitor:
    return visitor_of(request, "admin")
