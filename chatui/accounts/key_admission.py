"""Admits requests with an API key: recognizes its text, checks that it is valid, and counts the request.

A key is ``cu_``, eight public characters, the secret, and a checksum that catches typing errors. The secret has 256 random bits, so a fast
digest protects it as well as a slow one would. Secret scanners can find a leaked key by its pattern.

The key of a request is looked up in the database each time, so that a revoked key stops working at once.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.crypto import constant_time_compare

from chatui.accounts import sign_in_settings
from chatui.accounts.secret_texts import digest_of, note_use, readable
from chatui.audit_log.record import Visitor
from chatui.audit_log.repeated_action import RepeatedAction
from chatui.database import connections
from chatui.database.statements import one_of, read
from chatui.env import environment
from chatui.guesses import GuessLimit, Scope
from chatui.limits import CACHE_ERRORS, Throttle, ThrottledError
from chatui.models.programs import ApiKey
from chatui.models.user import User
from chatui.permissions import programs

PREFIX_CHARS = 11
"""The length of a key's prefix, which identifies the key on pages and in the audit log."""
_PATTERN = re.compile(r"cu_[a-z0-9]{8}_[A-Za-z0-9_-]{43}[0-9a-f]{8}")


def new() -> str:
    body = f"cu_{readable(8)}_{secrets.token_urlsafe(32)}"
    return body + _check_sum(body)


def prefix_of(text: str) -> str | None:
    """The prefix of a text that looks like a key; None for anything else."""
    if not _PATTERN.fullmatch(text) or _check_sum(text[:-8]) != text[-8:]:
        return None
    return text[:PREFIX_CHARS]


def _check_sum(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"


WAY = "program"
"""The audit log's value for requests with an API key."""
WINDOW_SECONDS = 60

# A valid key is never refused because of invalid ones from the same address, so this limit can be strict.
_invalid_keys = GuessLimit("API key", address=Scope(free=20, longest=60, window=3600))
_refusals = RepeatedAction("API key refused", per_key=5, total=200)
_requests = Throttle("api", attempts=0, seconds=WINDOW_SECONDS)


class KeyThrottledError(ThrottledError):
    """A key has made ``used`` requests within a minute, and may make ``per_minute``."""

    def __init__(self, seconds: int, per_minute: int, used: int) -> None:
        super().__init__(seconds)
        self.per_minute = per_minute
        self.used = used


class KeyRefusedError(Exception):
    """The key does not exist or is no longer valid. The caller cannot tell which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRights:
    """What a key may do."""

    for_responses: bool
    for_chat: bool
    for_messages: bool = False
    models: tuple[str, ...] = ()
    """The model choices that it may use, empty for all."""
    tools: tuple[str, ...] = ()
    """Names of the product's tools that models may call for it."""
    per_minute: int = 60
    at_once: int | None = None
    """How many of its answers may be written at once; None: as many as for all keys of its owner."""
    views_hidden: bool = False
    """Whether it may read raw reasoning."""
    reads_all: bool = False
    """Whether it may also read responses that the owner's other keys requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveKey(KeyRights):
    """A key that was valid when it was checked, with its owner, who then had the permission for what it reads. Not the key itself."""

    id: UUID
    prefix: str
    owner: User
    used: int = 0
    """How many requests it has made within this minute; 0 if they could not be counted."""
    seconds: int = 0
    """In how many seconds this minute ends; 0 if they could not be counted."""

    @property
    def only_key(self) -> UUID | None:
        """The key whose answers it may read: this key's id, or None for all keys of its owner."""
        return None if self.reads_all else self.id

    def may_use(self, choice: str) -> bool:
        return not self.models or choice in self.models


def admit(text: str, address: str) -> LiveKey:
    """Check the key of a request, and count the request against the key's rate limit.

    Raises:
        KeyRefusedError: the key is not valid.
        MustWaitError: the key is not valid, and too many invalid keys came from this address.
        KeyThrottledError: the key is valid, but was used too often within a minute.
    """
    row = _row(text)
    if row is None:
        _invalid_keys.miss(address)
        raise KeyRefusedError
    return _admit(row, address)


def count_more(key: LiveKey, requests: int) -> LiveKey:
    """Count more requests against the key's rate limit: one that asks for several answers is as many. Returns the key as counted.

    Raises:
        KeyThrottledError: they exceed it.
    """
    with contextlib.suppress(*CACHE_ERRORS):
        used, seconds = _requests.count(str(key.id), amount=requests)
        if used > key.per_minute:
            raise KeyThrottledError(seconds, key.per_minute, used)
        return replace(key, used=used, seconds=seconds)
    return key


def admit_again(key: LiveKey, address: str) -> LiveKey:
    """Check the same key again, for another request over the same connection. Raises as ``admit``."""
    row = _row_by("id", key.id)
    if row is None:
        raise KeyRefusedError
    return _admit(row, address)


def valid_among(keys: Iterable[UUID]) -> set[UUID]:
    """Which of these keys are still valid. One statement for all."""
    wanted = list(keys)
    return {row.pk for row in _rows(f"id {one_of(wanted)}", *wanted) if is_valid(row)} if wanted else set()


def _admit(row: ApiKey, address: str) -> LiveKey:
    if not is_valid(row):
        detail = f"{row.prefix}, {_why_invalid(row)}"
        _refusals.record(Visitor(None, address, WAY), str(row.pk), row.owner.get_username(), detail)
        raise KeyRefusedError
    used = seconds = 0
    with contextlib.suppress(*CACHE_ERRORS):  # allowed while the cache is unavailable, as for people who are signed in
        used, seconds = _requests.count(str(row.pk))
        if used > row.per_minute:
            raise KeyThrottledError(seconds, row.per_minute, used)
    note_use(row)
    names = ("prefix", "owner", "for_responses", "for_chat", "for_messages", "per_minute", "at_once", "reads_all")
    rights = {name: getattr(row, name) for name in names}
    rights |= {"models": tuple(row.choices), "tools": tuple(row.tools), "views_hidden": _views_hidden(row)}
    return LiveKey(id=row.pk, used=used, seconds=seconds, **rights)


def is_still_valid(key: LiveKey) -> bool:
    """Whether the key is still valid, with all its permissions. Checked again while an answer is sent."""
    row = _row_by("id", key.id)
    return row is not None and is_valid(row) and (not key.views_hidden or _views_hidden(row))


def is_valid(row: ApiKey) -> bool:
    """Whether the key is valid: neither revoked nor expired, and of an active account whose keys do not rest."""
    return not _why_invalid(row)


def _why_invalid(row: ApiKey) -> str:
    if row.revoked_at:
        return "revoked"
    if not row.owner.is_active:
        return "account closed"
    if row.has_expired:
        return "expired"
    return "rests until the owner signs in" if do_rest(row.owner) else ""


def do_rest(owner: User) -> bool:
    """Whether the keys of this person wait for their next sign-in.

    They do if a provider's operator no longer admits the person, or if only a provider opens the account and has not done so for
    ``CHATUI_KEY_REST_DAYS``: most people who leave never try again, and nobody tells us. At most two statements, for the latter.
    """
    if owner.rests_since is not None:
        return True
    days = environment().key_rest_days
    if not days or (owner.last_login or owner.date_joined) > timezone.now() - timedelta(days=days):
        return False
    return not sign_in_settings.has_own_way(owner) and owner.outside_identities.exists()


def _views_hidden(row: ApiKey) -> bool:
    return row.views_hidden and programs.may_read(row.owner)


def _row(text: str) -> ApiKey | None:
    prefix = prefix_of(text)
    row = _row_by("prefix", prefix) if prefix else None
    return row if row is not None and constant_time_compare(row.digest, digest_of(text)) else None


def _row_by(column: str, value: object) -> ApiKey | None:
    return next(iter(_rows(f"{column} = %s", value)), None)


def _rows(where: str, *values: object) -> list[ApiKey]:
    """The rows of keys with their owners'. In plain SQL, because each request of a program reads them."""
    has_expired = f"chatui_apikey.expires_at <= {connections.after_sql(timedelta())}"
    found = read(ApiKey, f"chatui_apikey.{where}", *values, also=(has_expired,), with_its="owner")
    for row, (value,) in found:
        row.has_expired = bool(value)  # by the database's clock: a machine whose own is slow would admit keys that have ended
    return [row for row, _ in found]
