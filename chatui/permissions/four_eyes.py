"""The four-eyes rule: whether two accounts are really two people, judged by who created or changed whose account."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_noop as noop

from chatui.env import environment
from chatui.models import AccountChange, User

ACCOUNT_PERMISSIONS = {
    "chatui.add_user": noop("create accounts"),
    "chatui.change_user": noop("change accounts"),
    "auth.change_group": noop("change groups"),
    "chatui.delete_user": noop("delete accounts"),
}
"""Permissions that allow one person to act as two."""

_LONGEST_CHAIN = 8


def note(changer: User | None, changed: Iterable[UUID], what: str) -> None:
    """Record that ``changer`` created or changed these accounts, except their own. The operator (None) has no account to record."""
    if changer is not None:
        AccountChange.objects.bulk_create(
            AccountChange(changer_id=changer.pk, changed_id=key, what=what[:200]) for key in changed if key != changer.pk
        )


def are_tied(one: User, other: User) -> bool:
    """Whether one created or changed the other's account, also through accounts in between, within ``CHATUI_FOUR_EYES_DAYS``."""
    return _reaches(one.pk, other.pk) or _reaches(other.pk, one.pk)


def account_permissions(person: User) -> tuple[str, ...]:
    """What this person may do with other people's accounts, in words; empty if nothing."""
    return tuple(words for name, words in ACCOUNT_PERMISSIONS.items() if person.has_perm(name))


def _reaches(changer: UUID, changed: UUID) -> bool:
    """Whether a chain of changes leads from one account to the other: a person who creates an account may use it to change a third one."""
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
    return True  # the chain is too long to follow: when in doubt, the two accounts count as one person
