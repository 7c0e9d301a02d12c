"""The four-eyes rule: two accounts may belong to one person if one of them created or changed the other, or a group of the other's."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import Group
from django.db.models import Expression
from django.utils.translation import gettext_noop as noop

from chatui.database import connections
from chatui.env import environment
from chatui.models.user import AccountChange, GroupChange, User

ACCOUNT_PERMISSIONS = {
    "chatui.add_user": noop("create accounts"),
    "chatui.change_user": noop("change accounts"),
    "auth.change_group": noop("change groups"),
    "chatui.delete_user": noop("delete accounts"),
}
"""The permissions with which one person can act as two."""

_MAX_CHAIN_LENGTH = 8


def record_change(changer: User | None, changed: Iterable[UUID], what: str) -> None:
    """Record that ``changer`` created or changed these accounts, except their own. Nothing is recorded for the operator (None)."""
    if changer is not None:
        AccountChange.objects.bulk_create(
            AccountChange(changer_id=changer.pk, changed_id=key, what=what[:200]) for key in changed if key != changer.pk
        )


def record_group_change(changer: User | None, group: Group) -> None:
    """Record that ``changer`` created or changed this group, and so linked themselves with everybody who is in it now or joins it later."""
    if changer is not None:
        GroupChange.objects.create(changer_id=changer.pk, group=group)


def record_joined(person: User, groups: Collection[str]) -> None:
    """Record that the person, who has just joined these groups, owes their rights to those who changed the groups lately.

    Call it wherever somebody joins a group: unlike the lookup through the group, this outlasts the membership, and the group itself.
    """
    changers = GroupChange.objects.filter(group__name__in=groups, at__gt=_since()).values_list("changer_id", flat=True) if groups else ()
    for changer in set(changers) - {person.pk}:
        AccountChange.objects.create(changer_id=changer, changed_id=person.pk, what="joined a group that they had changed")


def are_linked(one: User, other: User) -> bool:
    """Whether one created or changed the other's account, or a group that the other was in then or joined later, within
    ``CHATUI_FOUR_EYES_DAYS``, directly or through accounts in between."""
    return _reaches(one.pk, other.pk) or _reaches(other.pk, one.pk)


def account_permissions(person: User) -> tuple[str, ...]:
    """Descriptions of what this person may do with other people's accounts; empty if nothing."""
    return tuple(words for name, words in ACCOUNT_PERMISSIONS.items() if person.has_perm(name))


def _since() -> Expression:
    return connections.before(timedelta(days=environment().four_eyes_days))


def _reaches(changer: UUID, changed: UUID) -> bool:
    """Whether a chain of changes leads from one account to the other: whoever creates an account may use it to change a third one."""
    since = _since()
    reached = frontier = {changer}
    for _ in range(_MAX_CHAIN_LENGTH):
        found = set(AccountChange.objects.filter(changer_id__in=frontier, at__gt=since).values_list("changed_id", flat=True))
        groups = GroupChange.objects.filter(changer_id__in=frontier, at__gt=since).values("group")
        found |= set(User.groups.through.objects.filter(group__in=groups).values_list("user_id", flat=True))
        if changed in found:
            return True
        frontier = found - reached
        if not frontier:
            return False
        reached = reached | frontier
    return True  # the chain is too long to follow, so to be safe the two accounts count as one person
