"""Whether two people are two: who made or changed the account of whom, and who could."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from chatui.env import environment
from chatui.models import AccountChange, User

OVER_ACCOUNTS = {
    "chatui.add_user": "make accounts",
    "chatui.change_user": "change accounts",
    "auth.change_group": "change groups",
    "chatui.delete_user": "delete accounts",
}
"""Permissions with which one person could become two."""

_LONGEST_CHAIN = 8


def note(changer: User | None, changed: Iterable[UUID], what: str) -> None:
    """Keep that ``changer`` made or changed these accounts; of their own nobody is told. The operator, who has no account, is nobody."""
    if changer is not None:
        AccountChange.objects.bulk_create(
            AccountChange(changer_id=changer.pk, changed_id=key, what=what[:200]) for key in changed if key != changer.pk
        )


def are_tied(one: User, other: User) -> bool:
    """Whether one of the two made or changed the other's account within the time that the operator set, also by an account in between."""
    return _reaches(one.pk, other.pk) or _reaches(other.pk, one.pk)


def rights_over_accounts(person: User) -> tuple[str, ...]:
    """What this person may do with accounts of others, in words; empty for nothing."""
    return tuple(words for name, words in OVER_ACCOUNTS.items() if person.has_perm(name))


def _reaches(changer: UUID, changed: UUID) -> bool:
    """Whether a chain of changes leads from one account to the other: who makes a third account may use it to change a fourth."""
    since = timezone.now() - timedelta(days=environment().four_eyes_days)
    reached = front = {changer}
    for _ in range(_LONGEST_CHAIN):
        found = set(AccountChange.objects.filter(changer_id__in=front, at__gt=since).values_list("changed_id", flat=True))
        if changed in found:
            return True
        front = found - reached
        if not front:
            return False
        reached = reached | front
    return True  # nobody follows a chain that long; what is not known to be two people is one
