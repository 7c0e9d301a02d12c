"""Keys as their owners and admins handle them: made, listed and taken back. Each change is recorded, with the key's beginning only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui.accounts.api_keys import key_text
from chatui.audit_log.record import Visitor, record
from chatui.models import ApiKey, User
from chatui.permissions.access import NotFoundError

MADE, REVOKED, REVOKED_BY_ADMIN = "make API key", "revoke API key", "revoke somebody's API key"
NAME_CHARS = 60
MOST_KEYS = 20
"""Of one person, that still work."""
MOST_PER_MINUTE = 600


class TooManyKeysError(Exception):
    """The person has as many keys as there may be."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A key as its owner wants it. ``models``: the choices that it may ask for, empty for all. ``days`` None: it has no end."""

    name: str
    for_responses: bool
    for_chat: bool
    models: tuple[str, ...] = ()
    per_minute: int = 60
    days: int | None = 90


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A new key. ``text`` is shown once, and is nowhere kept."""

    id: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key in its owner's list."""

    id: str
    name: str
    prefix: str
    made_at: datetime
    ends_at: datetime | None
    last_used_on: date | None
    for_responses: bool
    for_chat: bool
    models: tuple[str, ...]
    per_minute: int

    @property
    def formats(self) -> str:
        """The names of the formats that it may speak."""
        spoken = {"Responses": self.for_responses, "Chat Completions": self.for_chat}
        return " · ".join(name for name, is_spoken in spoken.items() if is_spoken)


def make(visitor: Visitor, wanted: Wanted) -> MadeKey:
    """A new key of the visitor's own. Recorded.

    Raises:
        NotFoundError: nobody is signed in.
        TooManyKeysError: they have MOST_KEYS already.
    """
    person = visitor.user
    if person is None:
        raise NotFoundError
    text = key_text.new()
    with transaction.atomic():
        # Two requests at once could both find room for the last one.
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if _working(person).count() >= MOST_KEYS:
            raise TooManyKeysError
        row = ApiKey.objects.create(
            owner=person,
            name=wanted.name[:NAME_CHARS],
            prefix=text[: key_text.PREFIX_CHARS],
            digest=key_text.digest_of(text),
            choices=list(wanted.models),
            for_responses=wanted.for_responses,
            for_chat=wanted.for_chat,
            per_minute=min(wanted.per_minute, MOST_PER_MINUTE),
            expires_at=None if wanted.days is None else timezone.now() + timedelta(days=wanted.days),
        )
        ends = "without end" if wanted.days is None else f"for {wanted.days} days"
        record(MADE, visitor, person.get_username(), detail=f"{row.prefix}, {ends}")
    return MadeKey(str(row.pk), text)


def of(person: User) -> list[ListedKey]:
    """The person's keys that work, the newest first."""
    return [_listed(row) for row in _working(person).order_by("-created_at")]


def revoke_own(visitor: Visitor, key_id: UUID) -> None:
    """Take back one of the visitor's own keys: it stops at once. Recorded. NotFoundError where it is not theirs or works no more."""
    row = _working(visitor.user).filter(pk=key_id).first() if visitor.user else None
    if row is None:
        raise NotFoundError
    _revoke(visitor, [row], REVOKED)


def revoke_for_admin(visitor: Visitor, rows: Sequence[ApiKey]) -> int:
    """Take back keys, whosever they are: the caller has checked the permission. Recorded. Returns how many were not revoked yet."""
    return _revoke(visitor, rows, REVOKED_BY_ADMIN)


def _revoke(visitor: Visitor, rows: Sequence[ApiKey], action: str) -> int:
    revoked = 0
    with transaction.atomic():
        for row in rows:
            if ApiKey.objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=timezone.now()):
                record(action, visitor, row.owner.get_username(), detail=row.prefix)
                revoked += 1
    return revoked


def _working(person: User) -> QuerySet[ApiKey]:
    lasts = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return ApiKey.objects.filter(lasts, owner=person, revoked_at=None)


def _listed(row: ApiKey) -> ListedKey:
    return ListedKey(
        id=str(row.pk),
        name=row.name,
        prefix=row.prefix,
        made_at=row.created_at,
        ends_at=row.expires_at,
        last_used_on=row.last_used_on,
        for_responses=row.for_responses,
        for_chat=row.for_chat,
        models=tuple(str(choice) for choice in row.choices),
        per_minute=row.per_minute,
    )
