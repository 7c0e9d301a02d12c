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

    ``members``: the number of open accounts. ``allows``: descriptions of its permissions. ``features``: descriptions of features that
    settings limit to some groups, including this one. ``is_required_by_settings``: the operator's settings require the second factor, so no
    page can change that.
    """

    id: int
    name: str
    members: int
    allows: tuple[str, ...]
    features: tuple[str, ...]
    needs_second_factor: bool
    is_required_by_settings: bool


def list_groups(staff: User) -> list[ListedGroup]:
    """All groups, by name. Raises NotFoundError if the member of staff may not see groups."""
    return [_listed(group) for group in _rows(staff).order_by("name")]


def find_group(staff: User, group_id: int) -> tuple[Group, ListedGroup]:
    """The group with that key. Raises NotFoundError as ``list_groups``, and if it does not exist."""
    group = _rows(staff).filter(pk=group_id).first()
    if group is None:
        raise NotFoundError
    return group, _listed(group)


@transaction.atomic
def create(visitor: Visitor, name: str, permissions: Collection[Permission]) -> Group:
    """Create a group with those of these permissions that the visitor may grant. Recorded.

    Raises:
        NotFoundError: they may not create groups, or none with that name.
        IntegrityError: another request has just created a group with that name.
    """
    staff = account_managers.lock_for(person_of(visitor))
    if not administration.may_make_groups(staff) or not named_groups.may_create_named(staff, name):
        raise NotFoundError
    group = Group.objects.create(name=name)
    group.permissions.set(administration.group_permissions(staff).filter(pk__in=[each.pk for each in permissions]))
    changes.record_created(visitor, group)
    return group


def _rows(staff: User) -> QuerySet[Group]:
    if not administration.may_see_groups(staff):
        raise NotFoundError
    rows = Group.objects.annotate(members=Count("user", filter=Q(user__is_active=True)))
    return rows.select_related("required_factor").prefetch_related("permissions__content_type")


def _listed(group: Group) -> ListedGroup:
    names = [f"{each.content_type.app_label}.{each.codename}" for each in group.permissions.all()]
    allows = tuple(gettext(catalogue.DESCRIPTIONS[name]) for name in names if name in catalogue.DESCRIPTIONS)
    is_required_by_settings = required.is_set_in_environment(group)
    needs = is_required_by_settings or hasattr(group, "required_factor")
    return ListedGroup(group.pk, group.name, group.members, allows, _features_of(group), needs, is_required_by_settings)  # type: ignore[attr-defined]


def _features_of(group: Group) -> tuple[str, ...]:
    """The features of the group, in words. No page shows the text of its instructions."""
    env = environment()
    messages = (
        (env.share_groups, gettext("May create share links")),
        (env.summary_groups, gettext("Gets summaries of the thinking")),
        (operators.group_instructions().texts, gettext("Has its own instructions for the model")),
    )
    return tuple(words for names, words in messages if group.name in names)
