"""API keys of people: creates, lists and revokes them, for their owners and for staff. ``key_admission`` checks the key of a request.

The audit log records each change with the key's prefix only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui.accounts import key_admission, sign_in_notices
from chatui.accounts.key_admission import PREFIX_CHARS, KeyRights
from chatui.accounts.secret_texts import digest_of
from chatui.audit_log.record import Visitor, record
from chatui.database import connections
from chatui.models.programs import ApiKey
from chatui.models.user import User
from chatui.permissions import administration, programs
from chatui.permissions.access import NotFoundError, existing, person_of

CREATED, REVOKED, REVOKED_BY_ADMIN = "make API key", "revoke API key", "revoke somebody's API key"
CREATED_FOR_ACCOUNT, REVOKED_WITH_PASSWORD = "make API key for an account", "revoke API key with the password"
REVOKED_WITH_ACCOUNT = "revoke API key with the account"
NAME_CHARS = 60
MAX_KEYS = 20
"""The most valid keys that one person may have."""
MAX_PER_MINUTE = 600
MAX_AT_ONCE = 1000


class TooManyKeysError(Exception):
    """The person already has the maximum number of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKeyOptions(KeyRights):
    """The options of a new key. ``days`` None: it never expires."""

    name: str
    days: int | None = 90


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key. ``text`` is shown once and never stored."""

    id: str
    text: str = field(repr=False)


def create(visitor: Visitor, wanted: NewKeyOptions) -> CreatedKey:
    """Create a key for the visitor. Recorded, and told them.

    Raises:
        NotFoundError: nobody is signed in, or the key is to read raw reasoning and the visitor may not.
        TooManyKeysError: they already have MAX_KEYS.
    """
    person = person_of(visitor)
    if wanted.views_hidden and not programs.may_read(person):
        raise NotFoundError
    with transaction.atomic():
        sign_in_notices.notify(person, "key-made")
        return _create(visitor, person, wanted, CREATED)


def create_for_account(visitor: Visitor, account: User, wanted: NewKeyOptions) -> CreatedKey:
    """Create a key for an account that nobody can sign in to. The caller has checked that the visitor may change the account. Recorded.

    Raises:
        NotFoundError: somebody can sign in to it, the account is closed, or the key is to read raw reasoning and the account or the visitor
            may not.
        TooManyKeysError: as for ``create``.
    """
    maker = person_of(visitor)
    may_read = not wanted.views_hidden or (programs.may_read(account) and programs.may_read(maker))
    if not (is_service_account(account) and may_read):
        raise NotFoundError
    return _create(visitor, account, wanted, CREATED_FOR_ACCOUNT)


def is_service_account(account: User) -> bool:
    """Whether nobody can sign in to this account, or ever has.

    Otherwise staff could remove a person's password to get a key to that person's data.
    """
    is_nobodys = account.is_active and not account.has_usable_password() and account.last_login is None
    # A directory creates accounts before people first sign in: a key created before then could read what they write later.
    return is_nobodys and not account.provisioned_accounts.exists() and not account.outside_identities.exists()


def _create(visitor: Visitor, person: User, wanted: NewKeyOptions, action: str) -> CreatedKey:
    maker = visitor.user.get_username() if visitor.user and visitor.user != person else ""
    text, rights = key_admission.new(), asdict(wanted)
    days = rights.pop("days")
    with transaction.atomic():
        # Locked, so that two simultaneous requests cannot exceed the limit.
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if _valid_keys(person).count() >= MAX_KEYS:
            raise TooManyKeysError
        row = ApiKey.objects.create(
            owner=person,
            prefix=text[:PREFIX_CHARS],
            digest=digest_of(text),
            choices=list(rights.pop("models")),
            made_by_name=maker,
            expires_at=None if days is None else connections.after(timedelta(days=days)),
            **rights | {"name": wanted.name[:NAME_CHARS], "per_minute": min(wanted.per_minute, MAX_PER_MINUTE)},
        )
        ends = "without end" if days is None else f"for {days} days"
        reads = ", reads raw reasoning" if wanted.views_hidden else ""
        with_tools = f", tools: {', '.join(wanted.tools)}" if wanted.tools else ""
        record(action, visitor, person.get_username(), detail=f"{row.prefix}, {ends}{reads}{with_tools}"[:200])
    return CreatedKey(str(row.pk), text)


def keys_of(person: User) -> QuerySet[ApiKey]:
    """The person's valid keys, the newest first."""
    return _valid_keys(person).defer("digest").order_by("-created_at")


def revoke_own(visitor: Visitor, key_id: UUID) -> None:
    """Revoke one of the visitor's own keys, which stops working at once. Recorded, and told them.

    Raises NotFoundError if it is not theirs or no longer valid.
    """
    row = existing(_valid_keys(person_of(visitor)).filter(pk=key_id).first())
    with transaction.atomic():
        sign_in_notices.notify(row.owner, "key-revoked")
        revoke(visitor, [row], REVOKED)


def revoke_all(visitor: Visitor, person: User, action: str = REVOKED_WITH_PASSWORD) -> int:
    """Revoke all keys of a person whose account is being closed, or whose password has changed: somebody who knew the old one may have
    created them. Returns how many. Recorded as ``action``."""
    return revoke(visitor, _valid_keys(person).select_related("owner"), action)


@transaction.atomic
def revoke(visitor: Visitor, rows: Iterable[ApiKey], action: str = REVOKED_BY_ADMIN) -> int:
    """Revoke keys of any owner, and return how many were still valid. The caller has checked the permission. Recorded."""
    revoked = 0
    for row in list(rows):
        if ApiKey.objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=timezone.now()):
            record(action, visitor, row.owner.get_username(), detail=row.prefix)
            revoked += 1
    return revoked


PAGE = 50


def everybodys(words: str = "", number: int = 1) -> Page[Any]:
    """A page of 50 keys of everybody, the newest first, also those that have ended. ``words``: in the owner's name or the key's name, or
    the key's prefix."""
    rows = ApiKey.objects.select_related("owner").defer("digest").order_by("-created_at")
    for word in words.replace("\0", "").split()[:8]:
        rows = rows.filter(Q(owner__username__icontains=word) | Q(name__icontains=word) | Q(prefix=word[:PREFIX_CHARS]))
    return Paginator(rows, PAGE).get_page(number)


def revoke_somebodys(visitor: Visitor, key_id: UUID) -> User:
    """Revoke a key of anybody, and return its owner, who is told. Recorded.

    Raises:
        NotFoundError: there is none, or the visitor may not.
    """
    row = existing(ApiKey.objects.select_related("owner").filter(pk=key_id).first())
    if not administration.may_revoke_keys(person_of(visitor)):
        raise NotFoundError
    with transaction.atomic():
        sign_in_notices.notify(row.owner, "key-revoked")
        revoke(visitor, [row])
    return row.owner


def _valid_keys(person: User) -> QuerySet[ApiKey]:
    not_expired = Q(expires_at=None) | Q(expires_at__gt=connections.now())
    return ApiKey.objects.filter(not_expired, owner=person, revoked_at=None)
