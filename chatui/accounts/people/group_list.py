"""The group list for account managers: the members and permissions of each group, and whether it requires a second factor."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext

from chatui.accounts.people import changes, named_groups
from chatui.accounts.second_factor import required
from chatui.accounts.sign_in_rules import account_managers
from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.models import User
from chatui.permissions import administration, catalogue
from chatui.permissions.access import NotFoundError, person_of
from chatui.prompts import operators


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group in the list.

    ``members``: open accounts. ``allows``: its permissions in words. ``has``: in words, features that settings limit to some groups
    including this one. ``is_outside``: the operator's settings require the second factor.
    """

    id: int
    name: str
    members: int
    allows: tuple[str, ...]
    has: tuple[str, ...]
    needs_second_factor: bool
    is_outside: bool


def all_of_them(staff: User) -> list[ListedGroup]:
    """All groups, by name. Raises NotFoundError if the person may not see groups."""
    return [_listed(group) for group in _rows(staff).order_by("name")]


def one(staff: User, group_id: int) -> tuple[Group, ListedGroup]:
    """The group of that key. Raises NotFoundError as ``all_of_them``, and if there is none."""
    group = _rows(staff).filter(pk=group_id).first()
    if group is None:
        raise NotFoundError
    return group, _listed(group)


@transaction.atomic
def make(visitor: Visitor, name: str, permissions: Collection[Permission]) -> Group:
    """Create a group with those of these permissions that the visitor may grant. Recorded.

    Raises:
        NotFoundError: they may not create groups, or none of that name. IntegrityError: another request has just created one of the same
        name.
    """
    staff = account_managers.lock_for(person_of(visitor))
    if not administration.may_make_groups(staff) or not named_groups.may_fill(staff, name):
        raise NotFoundError
    group = Group.objects.create(name=name)
    group.permissions.set(administration.group_permissions(staff).filter(pk__in=[each.pk for each in permissions]))
    changes.record_made(visitor, group)
    return group


def _rows(staff: User) -> QuerySet[Group]:
    if not administration.may_see_groups(staff):
        raise NotFoundError
    rows = Group.objects.annotate(members=Count("user", filter=Q(user__is_active=True)))
    return rows.select_related("required_factor").prefetch_related("permissions__content_type")


def _listed(group: Group) -> ListedGroup:
    names = [f"{each.content_type.app_label}.{each.codename}" for each in group.permissions.all()]
    allows = tuple(gettext(catalogue.WORDS[name]) for name in names if name in catalogue.WORDS)
    is_outside = required.is_set_in_environment(group)
    needs = is_outside or hasattr(group, "required_factor")
    return ListedGroup(group.pk, group.name, group.members, allows, _had_by(group), needs, is_outside)  # type: ignore[attr-defined]


def _had_by(group: Group) -> tuple[str, ...]:
    """Not the text of the instructions, which no page shows."""
    env = environment()
    said = (
        (env.share_groups, gettext("May create share links")),
        (env.summary_groups, gettext("Gets summaries of the thinking")),
        (operators.of_groups().texts, gettext("Has its own instructions for the model")),
    )
    return tuple(words for names, words in said if group.name in names)
