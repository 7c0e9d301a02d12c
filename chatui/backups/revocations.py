"""Keeps a restored backup from reviving what was revoked since: accounts, API keys and share links.

The database that is replaced knows of it. Where a row is there no more it was deleted, which takes it back as well.
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
from chatui.offboarding.closing import KeptOpenError, close_account

_CLOSED = "SELECT id FROM chatui_user WHERE NOT is_active"
_KEYS = "SELECT id FROM chatui_apikey WHERE revoked_at IS NULL"
_LINKS = "SELECT id FROM chatui_sharelink WHERE revoked_at IS NULL"


@dataclass(frozen=True, slots=True)
class ActiveAccess:
    """The access that was valid or closed in the replaced database: closed accounts, and working keys and links."""

    closed: frozenset[UUID]
    keys: frozenset[UUID]
    links: frozenset[UUID]


def active_access(current: sqlite3.Connection) -> ActiveAccess | None:
    """Read it; None where that cannot be read."""
    try:
        return ActiveAccess(*(frozenset(UUID(key) for (key,) in current.execute(query)) for query in (_CLOSED, _KEYS, _LINKS)))
    except (sqlite3.DatabaseError, ValueError, TypeError):
        return None


def revoke_again(held: ActiveAccess) -> int:
    """Do it again in the database that Django uses now. Returns how many accounts, keys and links that were; the first two are recorded.

    An account that must stay open, as the last one that looks after the others, stays so, and the log says that too.
    """
    people = [person for person in User.objects.filter(is_active=True) if person.pk in held.closed]
    count = sum(_closes(person) for person in people)
    keys = [row for row in ApiKey.objects.filter(revoked_at=None).select_related("owner") if row.pk not in held.keys]
    count += management.revoke_for_admin(SHELL, keys)
    for key in ShareLink.objects.filter(revoked_at=None).values_list("pk", flat=True):
        if key not in held.links:
            count += ShareLink.objects.filter(pk=key).update(revoked_at=timezone.now())
    return count


def _closes(person: User) -> bool:
    try:
        return close_account(person, Cause.OPERATOR, SHELL)
    except KeptOpenError:
        return False
