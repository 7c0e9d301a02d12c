"""Admin permissions: which parts of the admin pages staff may use, whose accounts they may change, and what they may grant."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, Group, Permission
from django.db.models import Q, QuerySet

from chatui.models import User
from chatui.permissions import access, catalogue, usage_reading
from chatui.permissions.access import NotFoundError


class Part(StrEnum):
    """A part of the administration pages."""

    PEOPLE = "people"
    SERVERS = "servers"
    FAILURES = "failures"
    REQUESTS = "requests"
    LOOKS = "looks"
    USAGE = "usage"
    SETTINGS = "settings"
    SYSTEM = "system"


def parts_of(user: User | None) -> tuple[Part, ...]:
    """The parts that exist for this person, in the order of the menu. Staff status alone opens none."""
    if user is None or not user.is_active or not user.is_staff:
        return ()
    opened = {
        Part.PEOPLE: user.has_perm("chatui.view_user"),
        Part.SERVERS: access.can_see_failures(user),
        Part.FAILURES: access.can_see_failures(user),
        Part.REQUESTS: access.can_see_hidden(user),
        Part.LOOKS: access.can_read_audit(user),
        Part.USAGE: usage_reading.can_read_usage(user),
        # People who may configure model servers manage the installation. So may the first account.
        Part.SETTINGS: user.has_perm("chatui.change_storedbackend"),
        Part.SYSTEM: user.has_perm("chatui.change_storedbackend"),
    }
    return tuple(part for part, is_open in opened.items() if is_open)


def keeper(user: User | None, part: Part | None = None) -> User:
    """This person, if that part exists for them; without a part, if any does. Raises NotFoundError for everybody else."""
    parts = parts_of(user)
    if user is None or not parts or (part is not None and part not in parts):
        raise NotFoundError
    return user


def may_examine(staff: User) -> bool:
    """Whether they may send test questions to a model server, with its key: people who may configure model servers."""
    return staff.is_active and staff.is_staff and staff.has_perms(("chatui.view_storedbackend", "chatui.change_storedbackend"))


def may_see_groups(staff: User) -> bool:
    """Whether they may read the groups on the administration pages, and who is in them."""
    return staff.is_active and staff.is_staff and staff.has_perms(("chatui.view_user", "auth.view_group"))


def may_make_groups(staff: User) -> bool:
    """Whether they may make a group on the administration pages."""
    return may_see_groups(staff) and staff.has_perm("auth.add_group")


def group_permissions(staff: User) -> QuerySet[Permission]:
    """The permissions that they may grant to a group: those they hold, among those that have a meaning here."""
    named = Q(pk__in=[])
    for name in catalogue.WORDS:
        app, codename = name.split(".")
        named |= Q(content_type__app_label=app, codename=codename)
    return held(staff).filter(named).select_related("content_type")


def may_change_group(staff: User, group: Group) -> bool:
    """Whether they may change that group: it has no more permissions than they have."""
    if not (may_see_groups(staff) and staff.has_perm("auth.change_group")):
        return False
    return staff.is_superuser or held_by(Q(group=group)) <= staff.get_all_permissions()


def has_no_more(staff: User | AnonymousUser, person: User) -> bool:
    """Whether this account has no more permissions than the member of staff. Otherwise they could gain permissions by taking it over."""
    if staff.is_superuser or person == staff:
        return True
    return not person.is_superuser and held_by(Q(user=person) | Q(group__user=person)) <= staff.get_all_permissions()


def mightier(staff: User) -> QuerySet[User]:
    """Everybody with more permissions (``has_no_more`` is false), each once."""
    nobody: QuerySet[User] = User.objects.none()
    if staff.is_superuser:
        return nobody
    beyond = Permission.objects.exclude(pk__in=held(staff))
    some = Q(is_superuser=True) | Q(user_permissions__in=beyond) | Q(groups__permissions__in=beyond)
    found: QuerySet[User] = User.objects.filter(some).exclude(pk=staff.pk).distinct()
    return found


def may_change(staff: User, person: User) -> bool:
    """Whether they may change that account on the admin pages. Never their own: the settings page is for that."""
    can = staff.is_active and staff.is_staff and staff.has_perm("chatui.change_user")
    return can and person != staff and has_no_more(staff, person)


def may_erase(staff: User, person: User) -> bool:
    """As ``may_change``, for erasing it."""
    can = staff.is_active and staff.is_staff and staff.has_perm("chatui.delete_user")
    return can and person != staff and has_no_more(staff, person)


def movable(staff: User, group: Group, people: Collection[UUID]) -> set[UUID]:
    """Which of these accounts they may put into that group, or take out of it."""
    if not staff.has_perms(("chatui.view_user", "chatui.change_user")) or not givable(staff).filter(pk=group.pk).exists():
        return set()
    return set(people) - {staff.pk} - set(mightier(staff).filter(pk__in=people).values_list("pk", flat=True))


def held_by(whose: Q) -> set[str]:
    """The permissions in the database, by name.

    Django reports none for a deactivated account, which would regain them when it is activated.
    """
    return {f"{app}.{name}" for app, name in Permission.objects.filter(whose).values_list("content_type__app_label", "codename")}


def held(staff: User | AnonymousUser) -> QuerySet[Permission]:
    """Every permission that a member of staff holds; all permissions for a superuser. They can grant what they hold."""
    if staff.is_superuser:
        return Permission.objects.all()
    names = staff.get_all_permissions()
    rows = Permission.objects.select_related("content_type")
    return Permission.objects.filter(pk__in=[row.pk for row in rows if f"{row.content_type.app_label}.{row.codename}" in names])


def givable(staff: User | AnonymousUser) -> QuerySet[Group]:
    """The groups that they may add somebody to: those without permissions that they do not hold themselves."""
    groups = Group.objects.order_by("name")
    return groups if staff.is_superuser else groups.exclude(permissions__in=Permission.objects.exclude(pk__in=held(staff)))
