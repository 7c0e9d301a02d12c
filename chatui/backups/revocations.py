"""Repeats, in a restored backup, the closing of accounts and the revoking of API keys and share links since the backup.

The replaced database has this information. A row that it lacks was deleted, which counts as revoked.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from chatui.accounts.api_keys import management
from chatui.audit_log.record import SHELL
from chatui.models import ApiKey, ShareLink, User
from chatui.models.accounts.closed_account import Cause
from chatui.offboarding.closing import CannotCloseError, close_account

_CLOSED = "SELECT id FROM chatui_user WHERE NOT is_active"
_KEYS = "SELECT id FROM chatui_apikey WHERE revoked_at IS NULL"
_LINKS = "SELECT id FROM chatui_sharelink WHERE revoked_at IS NULL"


@dataclass(frozen=True, slots=True)
class ActiveAccess:
    """The state of access in the replaced database: ``closed`` accounts, and valid ``keys`` and ``links``, by id."""

    closed: frozenset[UUID]
    keys: frozenset[UUID]
    links: frozenset[UUID]


def active_access(current: sqlite3.Connection) -> ActiveAccess | None:
    """Read the state from the current database; None if that fails."""
    try:
        return ActiveAccess(*(frozenset(UUID(key) for (key,) in current.execute(query)) for query in (_CLOSED, _KEYS, _LINKS)))
    except (sqlite3.DatabaseError, ValueError, TypeError):
        return None


def revoke_again(access: ActiveAccess) -> int:
    """Repeat the revocations in the database that Django uses now. Returns the number of accounts, keys and links. Accounts and keys are
    recorded. The last account manager's account remains open, which is also recorded.
    """
    people = [person for person in User.objects.filter(is_active=True) if person.pk in access.closed]
    count = sum(_close(person) for person in people)
    keys = [row for row in ApiKey.objects.filter(revoked_at=None).select_related("owner") if row.pk not in access.keys]
    count += management.revoke_for_admin(SHELL, keys)
    for key in ShareLink.objects.filter(revoked_at=None).values_list("pk", flat=True):
        if key not in access.links:
            count += ShareLink.objects.filter(pk=key).update(revoked_at=timezone.now())
    return count


def _close(person: User) -> bool:
    try:
        return close_account(person, Cause.OPERATOR, SHELL)
    except CannotCloseError:
        return False
