"""The groups of people: those that settings name, the list for account managers, and those that limit simultaneous answers.

Where a group that a setting names does not exist, the setting has no effect, so missing groups are reported. The list has the members and
permissions of each group, and whether it requires a second factor. The groups that limit answers are found in the query that loads the
person.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission
from django.db import DatabaseError, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from chatui import instructions
from chatui.accounts import account_managers, people, second_factor
from chatui.accounts.sign_in_settings import sign_in_file
from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.model_servers import configured
from chatui.models.user import User
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError, person_of
from renderer.characters import is_seen

log = logging.getLogger(__name__)

BACK_ENDS, SIGN_IN, FACTOR = "CHATUI_BACKENDS_FILE", "CHATUI_SIGN_IN_FILE", "CHATUI_SECOND_FACTOR_GROUPS"
LIMITS = "CHATUI_GROUP_ANSWERS_AT_ONCE"


@dataclass(frozen=True, slots=True)
class GroupReference:
    """A group that a setting names. ``effect``: the consequence if the group does not exist, in English."""

    setting: str
    group: str
    effect: str


def group_references() -> Iterator[GroupReference]:
    """Each group that a setting names, once for each setting. Reads only the environment and its files."""
    env = environment()
    messages = {
        FACTOR: (env.second_factor_groups, "nobody needs a second factor because of it"),
        "CHATUI_SHARE_GROUPS": (env.share_groups, "it lets nobody create share links"),
        "CHATUI_SUMMARY_GROUPS": (env.summary_groups, "it gives nobody summaries"),
        "CHATUI_GROUP_INSTRUCTIONS_FILE": (instructions.group_instructions().texts, "its instructions apply to nobody"),
        LIMITS: (env.group_answers_at_once, "its limit applies to nobody"),
        "CHATUI_TOOLS": ((name for names in env.tools.values() for name in names), "it gives nobody a tool"),
        BACK_ENDS: ((name for spec in configured.operator_backends(env) for name in spec.groups), "it gives nobody access to a back end"),
        SIGN_IN: ((name for provider in sign_in_file().providers for name in provider.managed_groups), "nobody is added to it"),
    }
    for setting, (names, effect) in messages.items():
        yield from (GroupReference(setting, name, effect) for name in sorted(set(names)))


def settings_that_name(group: str) -> list[str]:
    """The names of the environment variables that name this group, themselves or in their files."""
    return [reference.setting for reference in group_references() if reference.group == group]


def problem_with_new_name(staff: User, name: str) -> str:
    """A sentence that says why this member of staff cannot create a group with that name; empty if they can.

    The name must not differ from another group's only in case: people would confuse the two.
    """
    if not (name.isprintable() and is_seen(name)) or Group.objects.filter(name__iexact=name).exists():
        return gettext("A group with this name already exists, or the name has invisible characters.")
    if not may_create_named(staff, name):
        return gettext("A sign-in service adds people to the group of this name, so only somebody who may change accounts can create it.")
    return ""


def may_create_named(staff: User, name: str) -> bool:
    """Whether they may create a group with that name, considering who would be in it.

    A sign-in service adds people to the groups that it manages, so creating such a group gives these people its permissions. Only staff who
    may change accounts may do that.
    """
    return SIGN_IN not in settings_that_name(name) or staff.has_perm("chatui.change_user")


def missing() -> list[GroupReference]:
    """The references to groups that do not exist. One statement, or none if no group is named."""
    named = list(group_references())
    there = set(Group.objects.filter(name__in={reference.group for reference in named}).values_list("name", flat=True)) if named else set()
    return [reference for reference in named if reference.group not in there]


def log_missing() -> None:
    """Log missing groups when a process starts."""
    try:
        for reference in missing():
            log.warning("%s names the group %r, which does not exist: %s", reference.setting, reference.group, reference.effect)
    except DatabaseError as error:
        log.warning("the groups that settings name could not be checked (%s)", type(error).__name__)


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
    if not administration.may_make_groups(staff) or not may_create_named(staff, name):
        raise NotFoundError
    group = Group.objects.create(name=name)
    group.permissions.set(administration.group_permissions(staff).filter(pk__in=[each.pk for each in permissions]))
    people.record_created(visitor, group)
    return group


def _rows(staff: User) -> QuerySet[Group]:
    if not administration.may_see_groups(staff):
        raise NotFoundError
    rows = Group.objects.annotate(members=Count("user", filter=Q(user__is_active=True)))
    return rows.select_related("required_factor").prefetch_related("permissions__content_type")


def _listed(group: Group) -> ListedGroup:
    names = [administration.name_of(each) for each in group.permissions.all()]
    allows = tuple(gettext(administration.DESCRIPTIONS[name]) for name in names if name in administration.DESCRIPTIONS)
    is_required_by_settings = second_factor.is_set_in_environment(group)
    needs = is_required_by_settings or hasattr(group, "required_factor")
    return ListedGroup(group.pk, group.name, group.members, allows, _features_of(group), needs, is_required_by_settings)  # type: ignore[attr-defined]


def _features_of(group: Group) -> tuple[str, ...]:
    """The features of the group, in words. No page shows the text of its instructions."""
    env = environment()
    messages = (
        (env.share_groups, gettext("May create share links")),
        (env.summary_groups, gettext("Gets summaries of the thinking")),
        (instructions.group_instructions().texts, gettext("Has its own instructions for the model")),
    )
    return tuple(words for names, words in messages if group.name in names)


_PREFIX = "is_in_limited_group_"


def columns(names: Sequence[str]) -> Mapping[str, Exists]:
    """Columns to read with a person's row, one for each of ``names``, so that no extra statement is needed."""
    members = User.groups.through.objects.filter(user=OuterRef("pk"))
    return {f"{_PREFIX}{number}": Exists(members.filter(group__name=name)) for number, name in enumerate(names)}


def groups_of(person: User) -> frozenset[str]:
    """The person's groups that have a limit. One statement if the row was read without ``columns`` and any group has a limit."""
    known = names()
    if known and f"{_PREFIX}0" not in vars(person):
        return frozenset(person.groups.filter(name__in=known).values_list("name", flat=True))
    return frozenset(name for number, name in enumerate(known) if vars(person)[f"{_PREFIX}{number}"])


def names() -> tuple[str, ...]:
    return tuple(environment().group_answers_at_once)
