"""The administration pages about groups: permissions, members, and whether a second factor is required."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts import groups as accounts_groups
from chatui.accounts import people, second_factor
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.accounts.groups import ListedGroup
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError, key_of
from chatui.permissions.administration import AdminPart
from chatui.web.guards import notify_sockets, number, person_of, visitor_of
from chatui.web.manage.parts import RowsField, done, for_part, page, words_of

if TYPE_CHECKING:
    from chatui.models.user import User

LAST_MANAGER = _("Nothing was changed: nobody else could manage accounts.")
MAX_NAMED = 50
"""How many people without a second factor a page names; it counts the others."""


class PermissionsField(RowsField):
    """Single permissions, in the words of the catalogue."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Single permissions"), queryset=Permission.objects.none(), required=False, widget=forms.CheckboxSelectMultiple
        )

    def label_from_instance(self, obj: Any) -> str:
        return gettext(administration.DESCRIPTIONS[administration.name_of(obj)])


class GroupForm(forms.Form):
    """A group: its name, and which of the staff member's own permissions it gives, as roles and single ones."""

    name = forms.CharField(label=_("Name"), max_length=150)
    roles = forms.MultipleChoiceField(label=_("What its members may do"), required=False, widget=forms.CheckboxSelectMultiple)
    permissions = PermissionsField()

    def __init__(self, staff: User, group: Group | None, *args: Any, **kwargs: Any) -> None:
        """Offers only the permissions of the member of staff, and roles of which they have all. ``group`` None: a new one."""
        held = {administration.name_of(each): each.pk for each in group.permissions.select_related("content_type")} if group else {}
        roles = [role for role in administration.ROLES if role.permissions <= set(held)]
        alone = set(held).difference(*(role.permissions for role in roles))
        initial = {
            "name": group.name if group else "",
            "roles": [role.key for role in roles],
            "permissions": [held[name] for name in alone],
        }
        super().__init__(*args, **kwargs | {"initial": initial})
        self._staff, self._group = staff, group
        fields: dict[str, Any] = self.fields
        fields["permissions"].queryset = self._offered = administration.group_permissions(staff)
        names = {administration.name_of(each) for each in self._offered}
        words = {role.key: f"{gettext(role.name)}: {gettext(role.sentence)}" for role in administration.ROLES if role.permissions <= names}
        fields["roles"].choices = list(words.items())
        if not words:
            del fields["roles"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if why := accounts_groups.problem_with_name(self._staff, name, self._group):
            raise ValidationError(why)
        return name

    def granted(self) -> list[Permission]:
        """The permissions of a valid form: those of its roles, and the single ones."""
        chosen = self.cleaned_data.get("roles", ())
        names = set[str]().union(*(role.permissions for role in administration.ROLES if role.key in chosen))
        return [*self.cleaned_data["permissions"], *(each for each in self._offered if administration.name_of(each) in names)]


@for_part(AdminPart.PEOPLE, "GET", "POST")
def groups(request: HttpRequest) -> HttpResponse:
    """All groups, and a form to create one."""
    staff = person_of(request)
    form = GroupForm(staff, None, request.POST if request.method == "POST" else None) if administration.may_make_groups(staff) else None
    if request.method == "POST":
        if form is None:
            raise NotFoundError
        if form.is_valid():
            try:
                made = accounts_groups.create(visitor_of(request, "admin"), form.cleaned_data["name"], form.granted())
            except IntegrityError:
                return redirect("manage_groups")  # another request created it first: it is in the list
            return done("group-created", made.name, "manage_group", made.pk)
    context = {
        "groups": accounts_groups.list_groups(staff),
        "show": "groups",
        "may_invite": administration.may_invite(staff, None),
        "form": form,
    }
    return page(request, AdminPart.PEOPLE, "manage/groups.html", context)


@for_part(AdminPart.PEOPLE, "GET", "POST")
def group(request: HttpRequest, group_id: int) -> HttpResponse:
    """One group and its members; forms to change it, to add and remove people, and to require a second factor or no longer."""
    row, shown = accounts_groups.find_group(person_of(request), group_id)
    if request.method != "POST":
        return _group(request, row, shown)
    for name, act in (("member", _member), ("name", _change), ("required", _require)):
        if name in request.POST:
            return act(request, row, shown)
    raise NotFoundError


def _require(request: HttpRequest, row: Group, _shown: ListedGroup) -> HttpResponse:
    if request.POST["required"] not in ("on", "off"):
        raise NotFoundError  # the requirement is only removed on explicit request
    is_on, ends_sessions = request.POST["required"] == "on", "sessions" in request.POST
    notify_sockets(*second_factor.set_for(visitor_of(request, "admin"), row, is_on=is_on, ends_sessions=ends_sessions))
    return done("factor-required" if is_on else "factor-not-required", row.name, "manage_group", row.pk)


def _change(request: HttpRequest, row: Group, shown: ListedGroup) -> HttpResponse:
    staff = person_of(request)
    if not administration.may_change_group(staff, row):
        raise NotFoundError
    form = GroupForm(staff, row, request.POST)
    if not form.is_valid():
        return _group(request, row, shown, form=form)
    try:
        members = accounts_groups.change(visitor_of(request, "admin"), row.pk, form.cleaned_data["name"], form.granted())
    except LastAccountManagerError:
        return _group(request, row, shown, LAST_MANAGER)
    except IntegrityError:
        return redirect("manage_group", row.pk)  # another request gave this name to another group first
    notify_sockets(*members)
    return done("group-changed", form.cleaned_data["name"], "manage_group", row.pk)


@for_part(AdminPart.PEOPLE, "GET", "POST")
def delete(request: HttpRequest, group_id: int) -> HttpResponse:
    """Say what deleting a group means, and which settings and model servers still refer to it; then delete it."""
    row, shown = accounts_groups.find_group(person_of(request), group_id)
    if not administration.may_delete_group(person_of(request), row):
        raise NotFoundError
    context: dict[str, object] = {"group": shown, "references": accounts_groups.references_to(row)}
    if request.method == "POST" and not context["references"]:
        try:
            members = accounts_groups.delete(visitor_of(request, "admin"), row.pk)
        except LastAccountManagerError:
            return page(request, AdminPart.PEOPLE, "manage/group_delete.html", context | {"problem": LAST_MANAGER}, 409)
        notify_sockets(*members)
        return done("group-deleted", row.name, "manage_groups")
    return page(request, AdminPart.PEOPLE, "manage/group_delete.html", context)


def _member(request: HttpRequest, row: Group, shown: ListedGroup) -> HttpResponse:
    """Add or remove somebody, and redirect to the page they were found on."""
    person_id, asked = key_of(request.POST.get("person")), request.POST["member"]
    if asked not in ("in", "out"):
        raise NotFoundError
    try:
        person = people.set_member(visitor_of(request, "admin"), person_id, row, is_in=asked == "in")
        notify_sockets(person)
    except LastAccountManagerError:
        return _group(request, row, shown, LAST_MANAGER)
    words = {"q": request.POST["q"][:150]} if request.POST.get("q") else {}
    return done(f"member-{asked}", person.get_username(), "manage_group", row.pk, part="#members-heading", **words)


def _group(request: HttpRequest, row: Group, shown: ListedGroup, problem: Any = "", form: GroupForm | None = None) -> HttpResponse:
    staff, words = person_of(request), words_of(request)
    lacking, may_change = second_factor.members_without_factor(row), administration.may_change_group(staff, row)
    # A search finds anybody; without one, the page lists members.
    people_page = people.page(words, "", number(request.GET.get("page"), 1), None if words.strip() else row)
    context = {
        "group": shown,
        "problem": problem,
        "may_change": may_change,
        "may_delete": administration.may_delete_group(staff, row),
        "form": form or (GroupForm(staff, row) if may_change else None),
        "lacking": lacking[:MAX_NAMED],
        "has_members_with_more_permissions": not set(lacking).isdisjoint(administration.people_with_more_permissions(staff)),
        "more": max(0, len(lacking) - MAX_NAMED),
        "is_among": staff in lacking,
        "has_none": not second_factor.is_on(staff),
        "words": words,
        "found": people_page,
        "changeable_ids": administration.changeable_people(staff, row, [person.id for person in people_page.object_list]),
    }
    return page(request, AdminPart.PEOPLE, "manage/group.html", context, 409 if problem else 400 if form else 200)
