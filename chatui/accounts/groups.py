"""The groups of people: those that settings name, and the list for account managers.

Where a group that a setting names does not exist, the setting has no effect, so missing groups are reported. The list has the members and
permissions of each group, and whether it requires a second factor.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission
from django.db import DatabaseError, transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext

from chatui import instructions
from chatui.accounts import account_changes, account_managers, people
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.accounts.sign_in_settings import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.model_servers import configured
from chatui.models.model_servers import StoredBackend
from chatui.models.user import User
from chatui.permissions import administration, debug_requests
from chatui.permissions.access import NotFoundError, existing, person_of
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
        "CHATUI_GROUP_API_AT_ONCE": (env.group_api_at_once, "its limit applies to nobody"),
        "CHATUI_TOOLS": ((name for names in env.tools.values() for name in names), "it gives nobody a tool"),
        BACK_ENDS: (
            (name for spec in configured.operator_backends(env) for name in spec.groups),
            "it gives nobody access to a model server",
        ),
        SIGN_IN: ((name for provider in sign_in_file().providers for name in provider.managed_groups), "nobody is added to it"),
    }
    for setting, (names, effect) in messages.items():
        yield from (GroupReference(setting, name, effect) for name in sorted(set(names)))


def settings_that_name(group: str) -> list[str]:
    """The names of the environment variables that name this group, themselves or in their files."""
    return [reference.setting for reference in group_references() if reference.group == group]


def references_to(group: Group) -> list[str]:
    """The settings and model servers that refer to this group, by name. A model server without groups would become everybody's."""
    servers = StoredBackend.objects.filter(groups=group).order_by("name").values_list("name", flat=True)
    return [*settings_that_name(group.name), *servers]


def problem_with_name(staff: User, name: str, group: Group | None = None) -> str:
    """A sentence that says why this member of staff cannot give that name to this group, or to a new one; empty if they can.

    The name must not differ from another group's only in case: people would confuse the two. A group that a setting names keeps its name,
    because the setting would no longer apply, unnoticed; and a setting applies at once to all members of a group that gets its name.
    """
    others = Group.objects.exclude(pk=group.pk) if group else Group.objects.all()
    if not (name.isprintable() and is_seen(name)) or others.filter(name__iexact=name).exists():
        return gettext("A group with this name already exists, or the name has invisible characters.")
    if group is None:
        is_named = not may_create_named(staff, name)
        words = gettext("A sign-in service adds people to the group of this name, so only somebody who may change accounts can create it.")
        return words if is_named else ""
    if name == group.name:
        return ""
    if named := settings_that_name(group.name):
        words = gettext("A setting refers to this group: %(settings)s. Change the setting first.")
        return words % {"settings": ", ".join(named)}
    if not staff.is_superuser and (named := settings_that_name(name)):
        words = gettext("A setting refers to a group with this name: %(settings)s. Create a new group instead of renaming this one.")
        return words % {"settings": ", ".join(named)}
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
    try:
        for reference in missing():
            log.warning("%s names the group %r, which does not exist: %s", reference.setting, reference.group, reference.effect)
    except DatabaseError as error:
        log.warning("the groups that settings name could not be checked (%s)", type(error).__name__)


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group in the list."""

    id: int
    name: str
    members: int
    """The number of open accounts."""
    allows: tuple[str, ...]
    """Descriptions of its permissions."""
    features: tuple[str, ...]
    """Descriptions of features that settings limit to some groups, including this one."""
    needs_second_factor: bool
    is_required_by_settings: bool
    """Whether the operator's settings require the second factor, so no page can change that."""


def list_groups(staff: User) -> list[ListedGroup]:
    """All groups, by name. Raises NotFoundError if the member of staff may not see groups."""
    return [_listed(group) for group in _rows(staff).order_by("name")]


def find_group(staff: User, group_id: int) -> tuple[Group, ListedGroup]:
    """The group with that key. Raises NotFoundError as ``list_groups``, and if it does not exist."""
    group = existing(_rows(staff).filter(pk=group_id).first())
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
    account_changes.record_created(visitor, group)
    return group


def change(visitor: Visitor, group_id: int, name: str, permissions: Collection[Permission]) -> list[User]:
    """Give a group this name and, of the permissions that the visitor may grant, exactly these. Others stay. Recorded.

    Returns the members whose open pages may show less now.

    Raises:
        NotFoundError: the visitor may not change the group, or not give it that name.
        LastAccountManagerError: nobody else could manage accounts; recorded, and nothing is changed.
    """
    with _changing(visitor, group_id, administration.may_change_group) as (staff, group):
        if problem_with_name(staff, name, group):
            raise NotFoundError
        before = account_changes.snapshot(group)
        people.set_offered(group.permissions, administration.group_permissions(staff), [each.pk for each in permissions])
        group.name = name
        group.save(update_fields=["name"])
        account_changes.record_changed(visitor, group, before)
        return _watching_members(group)


def delete(visitor: Visitor, group_id: int) -> list[User]:
    """Delete a group that no setting and no model server refers to. Recorded. Returns, and raises, as ``change``."""
    with _changing(visitor, group_id, administration.may_delete_group) as (_staff, group):
        if references_to(group):
            raise NotFoundError
        members = _watching_members(group)
        account_changes.record_deleted(visitor, group)
        group.delete()
        debug_requests.close_unpermitted()
        return members


@contextmanager
def _changing(visitor: Visitor, group_id: int, may: Callable[[User, Group], bool]) -> Iterator[tuple[User, Group]]:
    """The visitor and the group, checked after all account managers are locked: permissions read earlier may be out of date."""
    found = existing(Group.objects.filter(pk=group_id).first())
    try:
        with account_managers.require_manager_left(f"group {found.name}", [person_of(visitor).pk]):
            staff = account_managers.lock_for(person_of(visitor))
            group = existing(Group.objects.select_for_update().filter(pk=group_id).first())
            if not may(staff, group):
                raise NotFoundError
            yield staff, group
    except LastAccountManagerError as error:
        record("group not changed", visitor, error.name, detail=f"by staff: {error}")
        raise


def _watching_members(group: Group) -> list[User]:
    return list(group.user_set.filter(is_staff=True).only("pk"))


@dataclass(frozen=True, slots=True)
class Right:
    """A sentence about what somebody may do, the groups that give it, and whether it is (also) given to the account itself."""

    words: str
    groups: tuple[str, ...]
    is_own: bool = False


def rights_of(person: User) -> list[Right]:
    """Everything that the account's groups and own permissions give, in as few sentences as possible. Three statements."""
    givers: dict[str, set[str]] = {}
    groups = list(person.groups.order_by("name").prefetch_related("permissions__content_type"))
    for group in groups:
        for each in group.permissions.all():
            givers.setdefault(administration.name_of(each), set()).add(group.name)
    own = {administration.name_of(each) for each in person.user_permissions.select_related("content_type")}
    rights = [
        Right(gettext(words), tuple(sorted(set().union(*(givers.get(name, set()) for name in names)))), bool(names & own))
        for words, names in administration.in_words({*givers, *own})
    ]
    features: dict[str, list[str]] = {}
    for group in groups:
        for words in _features_of(group):
            features.setdefault(words, []).append(group.name)
    return [*rights, *(Right(words, tuple(names)) for words, names in features.items())]


def _rows(staff: User) -> QuerySet[Group]:
    if not administration.may_see_groups(staff):
        raise NotFoundError
    rows = Group.objects.annotate(members=Count("user", filter=Q(user__is_active=True)))
    return rows.select_related("required_factor").prefetch_related("permissions__content_type")


def _listed(group: Group) -> ListedGroup:
    names = [administration.name_of(each) for each in group.permissions.all()]
    allows = tuple(gettext(words) for words, _names in administration.in_words(names))
    is_required_by_settings = group.name in environment().second_factor_groups
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
