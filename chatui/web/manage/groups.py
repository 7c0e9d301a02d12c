"""The administration pages about groups: permissions, members, and whether a second factor is required."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts import groups as accounts_groups
from chatui.accounts import people, second_factor
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.accounts.groups import ListedGroup
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.web import lists
from chatui.web.guards import visitor_of
from chatui.web.manage.parts import for_part, page
from chatui.web.sign_in.pages import notify_sockets, person_of

if TYPE_CHECKING:
    from chatui.models.user import User

MAX_NAMED = 50
"""How many people without a second factor a page names; it counts the others."""


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


@for_part(AdminPart.PEOPLE, "GET", "POST")
def groups(request: HttpRequest) -> HttpResponse:
    """All groups, and a form to create one."""
    staff = person_of(request)
    form = NewGroupForm(staff, request.POST if request.method == "POST" else None) if administration.may_make_groups(staff) else None
    if request.method == "POST":
        if form is None:
            raise NotFoundError
        if form.is_valid():
            try:
                made = accounts_groups.create(visitor_of(request, "admin"), form.cleaned_data["name"], form.cleaned_data["permissions"])
            except IntegrityError:
                return redirect("manage_groups")  # another request created it first: it is in the list
            return redirect(f"{reverse('manage_group', args=[made.pk])}?done=changed")
    context = {
        "groups": accounts_groups.list_groups(staff),
        "show": "groups",
        "may_invite": administration.may_invite(staff, None),
        "form": form,
    }
    return page(request, AdminPart.PEOPLE, "manage/groups.html", context)


@for_part(AdminPart.PEOPLE, "GET", "POST")
def group(request: HttpRequest, group_id: int) -> HttpResponse:
    """One group and its members; forms to add and remove people, and to require a second factor or no longer."""
    row, shown = accounts_groups.find_group(person_of(request), group_id)
    if request.method == "POST" and "member" in request.POST:
        return _member(request, row, shown)
    if request.method == "POST":
        if request.POST.get("required") not in ("on", "off"):
            raise NotFoundError  # the requirement is only removed on explicit request
        is_on, ends_sessions = request.POST["required"] == "on", "sessions" in request.POST
        for person in second_factor.set_for(visitor_of(request, "admin"), row, is_on=is_on, ends_sessions=ends_sessions):
            notify_sockets(person)
        return redirect(f"{reverse('manage_group', args=[row.pk])}?done=changed")
    return _group(request, row, shown)


def _member(request: HttpRequest, row: Group, shown: ListedGroup) -> HttpResponse:
    """Add or remove somebody, and redirect to the page they were found on."""
    try:
        person_id, is_in = UUID(request.POST.get("person", "")), {"in": True, "out": False}[request.POST["member"]]
    except (KeyError, ValueError):
        raise NotFoundError from None
    try:
        notify_sockets(people.set_member(visitor_of(request, "admin"), person_id, row, is_in=is_in))
    except LastAccountManagerError:
        return _group(request, row, shown, gettext("Nothing was changed: nobody else could manage accounts."))
    words = {"q": request.POST["q"][:150]} if request.POST.get("q") else {}
    return redirect(f"{reverse('manage_group', args=[row.pk])}?{urlencode({'done': 'changed', **words})}#members-heading")


def _group(request: HttpRequest, row: Group, shown: ListedGroup, problem: str = "") -> HttpResponse:
    staff, words = person_of(request), request.GET.get("q", "")[:150]
    lacking = second_factor.members_without_factor(row)
    # A search finds anybody; without one, the page lists members.
    found = people.page(words, "", lists.number(request, "page") or 1, None if words.strip() else row)
    context = {
        "group": shown,
        "done": request.GET.get("done") == "changed",
        "problem": problem,
        "may_change": administration.may_change_group(staff, row),
        "lacking": lacking[:MAX_NAMED],
        "has_members_with_more_permissions": not set(lacking).isdisjoint(administration.people_with_more_permissions(staff)),
        "more": max(0, len(lacking) - MAX_NAMED),
        "is_among": staff in lacking,
        "has_none": not second_factor.is_on(staff),
        "words": words,
        "found": found,
        "changeable_ids": administration.changeable_people(staff, row, [person.id for person in found.object_list]),
    }
    return page(request, AdminPart.PEOPLE, "manage/group.html", context, 409 if problem else 200)
