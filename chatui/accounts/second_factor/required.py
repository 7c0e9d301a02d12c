"""Decides who needs a second factor: members of groups for which the operator's settings or account managers require one."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from chatui.accounts import session_list
from chatui.accounts.sign_in_rules import account_managers, password_use
from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.models import Passkey, RequiredFactor, SecondFactor, User
from chatui.permissions import administration, four_eyes
from chatui.permissions.access import NotFoundError, person_of


def is_required(person: User) -> bool:
    """Whether one of their groups requires a second factor. One statement."""
    named = Q(name__in=environment().second_factor_groups)
    return person.groups.filter(named | Q(required_factor__isnull=False)).exists()


def is_set_in_environment(group: Group) -> bool:
    """Whether the environment requires it for this group, so that no page can change it."""
    return group.name in environment().second_factor_groups


def members_without_factor(group: Group) -> list[User]:
    """The members, by name, who sign in with a password and have no second factor, and so are asked to set one up."""
    open_accounts = group.user_set.filter(is_active=True).order_by("username")
    return [person for person in _without_factor(open_accounts) if person.has_usable_password() and password_use.may_use(person)]


@transaction.atomic
def set_for(visitor: Visitor, group: Group, *, is_on: bool, ends_sessions: bool = False) -> list[User]:
    """Require a second factor of the members of a group, or stop requiring it. Recorded.

    ``ends_sessions``: end the sessions of members without one, so that they are asked at once. The sessions of the visitor and of people
    with more permissions than the visitor are not ended. Returns the people whose sessions were ended.

    Raises:
        NotFoundError: the visitor may not change that group.
    """
    staff = account_managers.lock_for(person_of(visitor))
    if not administration.may_change_group(staff, group):
        raise NotFoundError
    if is_on == RequiredFactor.objects.filter(group=group).exists():
        return []
    if is_on:
        RequiredFactor.objects.get_or_create(group=group)
    else:
        RequiredFactor.objects.filter(group=group).delete()
    words = "needs a second factor now" if is_on else "needs no second factor any more"
    record("group changed", visitor, f"group {group.name}", detail=words)
    if not is_on:
        # Recorded as when a factor is removed: the visitor could now sign in to a member's account with the password alone.
        four_eyes.record_change(visitor.user, group.user_set.values_list("pk", flat=True), f"group changed: {words}")
    exempt = {staff, *administration.people_with_more_permissions(staff)}
    ended = [person for person in members_without_factor(group) if person not in exempt] if is_on and ends_sessions else []
    for person in ended:
        session_list.end_all_of(visitor, person)
    return ended


def _without_factor(people: QuerySet[User]) -> QuerySet[User]:
    app = SecondFactor.objects.filter(user=OuterRef("pk")).exclude(confirmed_at=None)
    return people.exclude(Exists(app)).exclude(Exists(Passkey.objects.filter(user=OuterRef("pk"))))
