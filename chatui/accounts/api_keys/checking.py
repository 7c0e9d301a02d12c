"""Checks the API key of a request and finds its owner. Reads the database each time, so that a revoked key stops working at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from chatui.accounts.api_keys import key_text
from chatui.audit_log.record import Visitor
from chatui.audit_log.repeat_limit import RepeatedAction
from chatui.guess_limits import GuessLimit, Scope
from chatui.models import ApiKey, User
from chatui.permissions.programs import reasoning
from chatui.throttle import CACHE_ERRORS, Throttle, ThrottledError

WAY = "program"
"""The audit log's value for requests with an API key."""
WINDOW_SECONDS = 60

# A valid key is never refused because of invalid ones from the same address, so this limit can be strict.
_invalid_keys = GuessLimit("API key", address=Scope(free=20, longest=60, window=3600))
_refusals = RepeatedAction("API key refused", per_key=5, total=200)
_requests = Throttle("api", attempts=0, seconds=WINDOW_SECONDS)


class KeyRefusedError(Exception):
    """The key does not exist or is no longer valid. The caller cannot tell which."""


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A key that was valid when it was checked, with its owner.

    It does not contain the key itself. ``views_hidden``: the key may read raw reasoning, and its owner had the permission for it.
    """

    id: UUID
    prefix: str
    owner: User
    models: frozenset[str]
    for_responses: bool
    for_chat: bool
    per_minute: int
    tools: frozenset[str] = frozenset()
    views_hidden: bool = False
    reads_all: bool = False

    @property
    def only_key(self) -> UUID | None:
        """The key whose answers it may read: this key's id, or None for all keys of its owner."""
        return None if self.reads_all else self.id

    def may_use(self, choice: str) -> bool:
        """Whether the key may use this model."""
        return not self.models or choice in self.models


def admit(text: str, address: str) -> LiveKey:
    """Check the key of a request, and count the request against the key's rate limit.

    Raises:
        KeyRefusedError: the key is not valid.
        MustWaitError: the key is not valid, and too many invalid keys came from this address.
        ThrottledError: the key is valid, but was used too often within a minute.
    """
    row = _row(text)
    if row is None:
        _invalid_keys.admit(address)
        raise KeyRefusedError
    return _admit(row, address)


def admit_again(key: LiveKey, address: str) -> LiveKey:
    """Check the same key again, for another request over the same connection. Raises as ``admit``."""
    row = _rows().filter(pk=key.id).first()
    if row is None:
        raise KeyRefusedError
    return _admit(row, address)


def valid_among(keys: Iterable[UUID]) -> set[UUID]:
    """Which of these keys are still valid. One statement for all."""
    return {row.pk for row in _rows().filter(pk__in=list(keys)) if is_valid(row)}


def _admit(row: ApiKey, address: str) -> LiveKey:
    if not is_valid(row):
        _record_refused(row, address)
        raise KeyRefusedError
    if _exceeds_limit(row):
        raise ThrottledError
    _store_last_use(row)
    return LiveKey(
        id=row.pk,
        prefix=row.prefix,
        owner=row.owner,
        models=frozenset(row.choices),
        for_responses=row.for_responses,
        for_chat=row.for_chat,
        per_minute=row.per_minute,
        views_hidden=_views_hidden(row),
        reads_all=row.reads_all,
        tools=frozenset(row.tools),
    )


def is_still_valid(key: LiveKey) -> bool:
    """Whether the key is still valid, with all its permissions. Checked again while an answer is sent."""
    row = _rows().filter(pk=key.id).first()
    return row is not None and is_valid(row) and (not key.views_hidden or _views_hidden(row))


def is_valid(row: ApiKey) -> bool:
    """Whether the key is valid: neither revoked nor expired, and of an active account."""
    is_expired = row.expires_at is not None and row.expires_at <= timezone.now()
    return row.revoked_at is None and not is_expired and row.owner.is_active


def _views_hidden(row: ApiKey) -> bool:
    return row.views_hidden and reasoning.may_read(row.owner)


def _row(text: str) -> ApiKey | None:
    prefix = key_text.prefix_of(text)
    row = _rows().filter(prefix=prefix).first() if prefix else None
    return row if row is not None and constant_time_compare(row.digest, key_text.digest_of(text)) else None


def _rows() -> QuerySet[ApiKey]:
    return ApiKey.objects.select_related("owner")


def _exceeds_limit(row: ApiKey) -> bool:
    try:
        return _requests.count(str(row.pk)) > row.per_minute
    except CACHE_ERRORS:
        return False  # allowed while the cache is unavailable, as for people who are signed in


def _record_refused(row: ApiKey, address: str) -> None:
    why = "revoked" if row.revoked_at else "account closed" if not row.owner.is_active else "expired"
    _refusals.record(Visitor(None, address, WAY), str(row.pk), row.owner.get_username(), f"{row.prefix}, {why}")


def _store_last_use(row: ApiKey) -> None:
    today = timezone.now().date()
    if row.last_used_on != today:
        unused = Q(last_used_on=None) | Q(last_used_on__lt=today)
        ApiKey.objects.filter(unused, pk=row.pk).update(last_used_on=today)
