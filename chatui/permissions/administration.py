"""Decides which parts of Administration staff may use, which accounts they may change, and which permissions they may grant.

The permission catalogue has the permissions that this product uses, under headings, each with a description. It is also decided here who
may invite people, and into which groups, and who may see everybody's usage. Nobody can grant permissions that they lack.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, Group, Permission
from django.db.models import CharField, Q, QuerySet, Value
from django.db.models.functions import Concat
from django.utils.translation import gettext_noop as noop

from chatui.models.user import User
from chatui.permissions import access, ratings
from chatui.permissions.access import NotFoundError

_VERBS = ("view", "add", "change", "delete")


def _table(app: str, model: str, *words: str) -> dict[str, str]:
    return {f"{app}.{verb}_{model}": meaning for verb, meaning in zip(_VERBS, words, strict=True)}


GROUPS: dict[str, dict[str, str]] = {
    noop("Hidden channels"): {
        "chatui.view_hidden_channels": noop("See hidden channels in the debug view (alone: of their own conversations)"),
        "chatui.view_any_conversation": noop("Open conversations of other people in the debug view"),
    },
    noop("Audit log"): {"chatui.view_auditevent": noop("Read and export the audit log")},
    noop("Ratings"): {"chatui.export_ratings": noop("Export ratings of answers, each with the visible conversation before it")},
    noop("Assistants and saved prompts"): {
        "chatui.offer_assistants": noop("Offer assistants and saved prompts of their own to groups"),
    },
    noop("Documents"): {"chatui.offer_collections": noop("Offer collections of documents of their own to groups")},
    noop("Usage"): {
        "chatui.view_usage": noop("See how much everybody uses, and export it"),
        "chatui.change_limits": noop("Set usage limits and model prices"),
    },
    noop("Accounts"): _table("chatui", "user", noop("See accounts"), noop("Add accounts"), noop("Change accounts"), noop("Erase accounts")),
    noop("Groups"): _table("auth", "group", noop("See groups"), noop("Add groups"), noop("Change groups"), noop("Delete groups")),
    noop("Model servers"): _table(
        "chatui",
        "storedbackend",
        noop("See model servers, and why answers failed"),
        noop("Connect model servers"),
        noop("Change model servers, and see settings and the system"),
        noop("Remove model servers"),
    ),
    noop("Tools"): {
        "chatui.view_tools": noop("See which tools there are, and why one is off"),
        "chatui.change_tools": noop("Switch tools on and off, and say for whom"),
        "chatui.connect_tools": noop("Choose the search engine, and connect tool servers by their address"),
    },
}
"""Permission names, such as ``chatui.view_auditevent``, with descriptions, under headings.

In English, as in the audit log; pages translate them.
"""

DESCRIPTIONS: dict[str, str] = {name: words for group in GROUPS.values() for name, words in group.items()}
"""The descriptions without the headings. Django's other permissions, such as "can add message", have no effect here."""


@dataclass(frozen=True, slots=True)
class StaffRole:
    """A common choice of permissions. ``name`` and ``sentence`` are in English, as in the catalogue."""

    key: str
    name: str
    sentence: str
    permissions: frozenset[str]


def _role(key: str, name: str, sentence: str, *headings: str) -> StaffRole:
    return StaffRole(key, name, sentence, frozenset(name for heading in headings for name in GROUPS[heading]))


ROLES = (
    _role(
        "people",
        noop("Helps people"),
        noop("Sees, invites, changes, closes and erases accounts, and makes and changes groups"),
        "Accounts",
        "Groups",
    ),
    _role(
        "servers",
        noop("Looks after servers"),
        noop("Connects model servers and tools, sees failed answers, settings and everybody’s usage, and sets limits and prices"),
        "Model servers",
        "Tools",
        "Usage",
    ),
    _role(
        "debug",
        noop("May debug"),
        noop("Opens hidden channels of any conversation for a reason, and each view is recorded"),
        "Hidden channels",
    ),
    _role("audit", noop("Reads the audit log"), noop("Reads and exports what was done, by whom and when, also debug views"), "Audit log"),
)


ADMINISTRATOR = "administrator"


def roles_for(staff: User) -> tuple[StaffRole, ...]:
    """The roles that they may give: those whose permissions they all have. *Administrator*, with every permission that they have, comes
    first if that is more than each of them."""
    held = frozenset(DESCRIPTIONS) if staff.is_superuser else DESCRIPTIONS.keys() & staff.get_all_permissions()
    roles = tuple(role for role in ROLES if role.permissions <= held)
    everything = StaffRole(ADMINISTRATOR, noop("Administrator"), noop("May do everything that you may do"), frozenset(held))
    return (everything, *roles) if roles and all(role.permissions < held for role in roles) else roles


def in_words(names: Collection[str]) -> list[tuple[str, frozenset[str]]]:
    """What these permissions allow, as few sentences as possible, each with the permissions that it stands for.

    A role has one sentence if all of its permissions are there; the others have their descriptions. In English, as the catalogue.
    """
    whole = [role for role in ROLES if role.permissions <= set(names)]
    rest = set(names).difference(*(role.permissions for role in whole))
    alone = [(words, frozenset((name,))) for name, words in DESCRIPTIONS.items() if name in rest]
    return [*((role.sentence, role.permissions) for role in whole), *alone]


def may_invite(inviter: User, group: Group | None) -> bool:
    """Whether this person may invite people now, into that group if one is given."""
    may_add = access.is_staff_with(inviter, "chatui.view_user", "chatui.add_user")
    return may_add and (group is None or has_no_more_permissions(inviter, group))


def can_read_usage(user: User | None) -> bool:
    """Whether this person may see everybody's usage. It is a separate permission: staff status does not include it."""
    return access.is_staff_with(user, "chatui.view_usage")


def may_add_servers(staff: User | None) -> bool:
    """Whether they may connect a new model server, and test it before."""
    return access.is_staff_with(staff, "chatui.view_storedbackend", "chatui.add_storedbackend")


class AdminPart(StrEnum):
    PEOPLE = "people"
    USAGE = "usage"
    LIMITS = "limits"
    SERVERS = "servers"
    TOOLS = "tools"
    FAILURES = "failures"
    RATINGS = "ratings"
    CONVERSATIONS = "conversations"
    REQUESTS = "requests"
    DEBUG_VIEWS = "looks"
    AUDIT = "audit"
    SETTINGS = "settings"
    SYSTEM = "system"


def parts_of(user: User | None) -> tuple[AdminPart, ...]:
    """The parts that this person may use, in the order of the menu. Staff status alone opens none."""
    if user is None or not user.is_active or not user.is_staff:
        return ()
    opened = {
        AdminPart.PEOPLE: user.has_perm("chatui.view_user"),
        AdminPart.USAGE: can_read_usage(user),
        AdminPart.LIMITS: may_set_limits(user),
        AdminPart.SERVERS: access.can_see_failures(user),
        AdminPart.TOOLS: user.has_perm("chatui.view_tools"),
        AdminPart.FAILURES: access.can_see_failures(user),
        AdminPart.RATINGS: ratings.can_export(user),
        AdminPart.CONVERSATIONS: access.can_debug_others(user),
        AdminPart.REQUESTS: access.can_see_hidden(user),
        AdminPart.DEBUG_VIEWS: access.can_read_audit(user),
        AdminPart.AUDIT: access.can_read_audit(user),
        # People who may configure model servers manage the whole installation. The first account has this permission.
        AdminPart.SETTINGS: user.has_perm("chatui.change_storedbackend"),
        AdminPart.SYSTEM: user.has_perm("chatui.change_storedbackend"),
    }
    return tuple(part for part, is_open in opened.items() if is_open)


def require_part(user: User | None, part: AdminPart | None = None) -> User:
    """This person, if they may use that part (without ``part``: any part). Raises NotFoundError for everybody else."""
    parts = parts_of(user)
    if user is None or not parts or (part is not None and part not in parts):
        raise NotFoundError
    return user


def may_examine(staff: User) -> bool:
    """Whether they may change model servers, and send test questions to one, which uses its key."""
    return access.is_staff_with(staff, "chatui.view_storedbackend", "chatui.change_storedbackend")


def may_remove_servers(staff: User) -> bool:
    return access.is_staff_with(staff, "chatui.view_storedbackend", "chatui.delete_storedbackend")


def may_change_tools(staff: User | None) -> bool:
    """Whether they may switch tools on and off, and say for whom."""
    return access.is_staff_with(staff, "chatui.view_tools", "chatui.change_tools")


def may_connect_tools(staff: User | None) -> bool:
    """Whether they may choose an address to which what a model writes is sent."""
    return access.is_staff_with(staff, "chatui.view_tools", "chatui.connect_tools")


def may_choose_search(staff: User | None) -> bool:
    """As ``may_connect_tools``. A search engine reads the queries, which are hidden from people."""
    return may_connect_tools(staff) and access.can_see_hidden(staff)


def may_confirm_tools(staff: User | None) -> bool:
    """Whether they may confirm what tools of other servers say to a model, so that people get them."""
    return access.is_staff_with(staff, "chatui.view_tools") and access.can_see_hidden(staff)


def may_set_limits(user: User | None) -> bool:
    return access.is_staff_with(user, "chatui.change_limits")


def may_see_accounts(staff: User) -> bool:
    return access.is_staff_with(staff, "chatui.view_user")


def may_revoke_keys(staff: User) -> bool:
    """Whether they may see everybody's API keys, and revoke them."""
    return access.is_staff_with(staff, "chatui.view_user", "chatui.change_user")


def may_see_groups(staff: User) -> bool:
    return access.is_staff_with(staff, "chatui.view_user", "auth.view_group")


def may_make_groups(staff: User) -> bool:
    return may_see_groups(staff) and staff.has_perm("auth.add_group")


def group_permissions(staff: User | AnonymousUser) -> QuerySet[Permission]:
    """The permissions that they may grant to a group: those in the catalogue that they hold themselves."""
    held = DESCRIPTIONS.keys() if staff.is_superuser else DESCRIPTIONS.keys() & staff.get_all_permissions()
    return named(held).select_related("content_type")


def may_change_group(staff: User, group: Group) -> bool:
    """Whether they may change that group: only if it has no permission that they lack."""
    return changeable_groups(staff).filter(pk=group.pk).exists()


def changeable_groups(staff: User) -> QuerySet[Group]:
    """The groups for which ``may_change_group`` is true."""
    return assignable_groups(staff) if may_see_groups(staff) and staff.has_perm("auth.change_group") else Group.objects.none()


def may_delete_group(staff: User, group: Group) -> bool:
    """As ``may_change_group``, with the permission to delete groups."""
    return may_see_groups(staff) and staff.has_perm("auth.delete_group") and has_no_more_permissions(staff, group)


def has_no_more_permissions(staff: User | AnonymousUser, target: User | Group) -> bool:
    """Whether staff would gain nothing by taking the account over or joining the group: it has no permission that they lack.

    The heir of closed accounts always has more, namely what those wrote: only the operator changes that account.
    """
    if isinstance(target, Group):
        return assignable_groups(staff).filter(pk=target.pk).exists()
    return not people_with_more_permissions(staff).filter(pk=target.pk).exists()


def people_with_more_permissions(staff: User | AnonymousUser) -> QuerySet[User]:
    """Everybody for whom ``has_no_more_permissions`` is false, each once.

    Read from the tables: Django reports no permissions for a closed account, although it would regain them when it is opened again.
    """
    heirs: QuerySet[User] = User.objects.filter(is_heir=True)
    if staff.is_superuser:
        return heirs
    beyond = Permission.objects.exclude(pk__in=held_permissions(staff))
    some = Q(is_superuser=True) | Q(user_permissions__in=beyond) | Q(groups__permissions__in=beyond)
    found: QuerySet[User] = User.objects.filter(some).exclude(pk=staff.pk)
    return (found | heirs).distinct()


def may_change(staff: User, person: User) -> bool:
    """Whether they may change that account in Administration. Never their own: people change theirs on the settings page."""
    return access.is_staff_with(staff, "chatui.change_user") and person != staff and has_no_more_permissions(staff, person)


def may_erase(staff: User, person: User) -> bool:
    """Whether they may erase that account. Never their own."""
    return access.is_staff_with(staff, "chatui.delete_user") and person != staff and has_no_more_permissions(staff, person)


def changeable_accounts(staff: User, people: Collection[UUID]) -> set[UUID]:
    """The accounts of ``people`` for which ``may_change`` is true."""
    if not access.is_staff_with(staff, "chatui.view_user", "chatui.change_user"):
        return set()
    return set(people) - {staff.pk} - set(people_with_more_permissions(staff).filter(pk__in=people).values_list("pk", flat=True))


def changeable_people(staff: User, group: Group, people: Collection[UUID]) -> set[UUID]:
    """Which of these accounts they may add to that group, or remove from it."""
    return changeable_accounts(staff, people) if assignable_groups(staff).filter(pk=group.pk).exists() else set()


def name_of(row: Permission) -> str:
    """The name of a permission, such as ``chatui.view_auditevent``. Read its content type with it."""
    return f"{row.content_type.app_label}.{row.codename}"


def named(names: Collection[str]) -> QuerySet[Permission]:
    """The permissions with these names."""
    name = Concat("content_type__app_label", Value("."), "codename", output_field=CharField())
    return Permission.objects.alias(name_of=name).filter(name_of__in=names)


def held_permissions(staff: User | AnonymousUser) -> QuerySet[Permission]:
    """The permissions that a member of staff holds, and so may grant; all permissions for a superuser."""
    return Permission.objects.all() if staff.is_superuser else named(staff.get_all_permissions())


def assignable_groups(staff: User | AnonymousUser) -> QuerySet[Group]:
    """The groups that they may add people to: those that have no permission that they lack."""
    groups = Group.objects.order_by("name")
    return groups if staff.is_superuser else groups.exclude(permissions__in=Permission.objects.exclude(pk__in=held_permissions(staff)))
