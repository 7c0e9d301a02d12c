"""SCIM tokens: one for each provider, stored as a digest, valid only for the SCIM endpoints."""

from __future__ import annotations

import hashlib
import re
import secrets

from django.utils import timezone

from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.sign_in_rules.sign_in_file import provider_of
from chatui.audit_log.record import Visitor, record
from chatui.audit_log.repeat_limit import RepeatedAction
from chatui.guess_limits import GuessLimit, Scope
from chatui.models import ProvisioningToken
from chatui.throttle import Throttle

MADE, REVOKED, REFUSED = "make directory token", "revoke directory token", "directory token refused"
PER_MINUTE = 1200

_PATTERN = re.compile(r"scim_[A-Za-z0-9_-]{43}")
_misses = GuessLimit("directory token", address=Scope(free=20, longest=60, window=3600))
_refusals = RepeatedAction(REFUSED, per_key=5, total=200)
_requests = Throttle("scim", attempts=PER_MINUTE, seconds=60)


class TokenRefusedError(Exception):
    """The token does not exist, or its provider is no longer configured."""


def make(visitor: Visitor, provider: Provider) -> str:
    """A new token, which is not stored itself; the one before stops at once. Recorded."""
    text = f"scim_{secrets.token_urlsafe(32)}"
    record(MADE, visitor, detail=f"for {provider.key}")
    defaults = {"digest": _digest(text), "made_at": timezone.now(), "last_used_on": None}
    ProvisioningToken.objects.update_or_create(provider=provider.key, defaults=defaults)
    return text


def revoke(visitor: Visitor, key: str) -> bool:
    """Revoke a provider's token. Recorded. Returns whether there was one."""
    if not ProvisioningToken.objects.filter(provider=key).delete()[0]:
        return False
    record(REVOKED, visitor, detail=f"of {key}")
    return True


def admit(visitor: Visitor, text: str) -> Provider:
    """The provider whose token this is, counted against its limit.

    Raises:
        TokenRefusedError: it is not good. The first ones are recorded.
        MustWaitError: nor is it judged any more, after too many wrong ones.
        ThrottledError: it is good, and came too often within a minute.
    """
    row = ProvisioningToken.objects.filter(digest=_digest(text)).first() if _PATTERN.fullmatch(text) else None
    provider = provider_of(row.provider) if row else None
    if row is None or provider is None:
        if _PATTERN.fullmatch(text):
            _refusals.record(visitor, visitor.address, None, f"of {row.provider}, which is not configured" if row else "no such token")
        _misses.admit(visitor.address)
        raise TokenRefusedError
    _requests.check(provider.key)
    today = timezone.now().date()
    if row.last_used_on != today:
        ProvisioningToken.objects.filter(pk=row.pk).update(last_used_on=today)
    return provider


def _digest(text: str) -> str:
    # It has 256 bits, so a fast digest protects it as well as a slow one would.
    return hashlib.sha256(text.encode()).hexdigest()
