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
_wrong_tokens = GuessLimit("directory token", address=Scope(free=20, longest=60, window=3600))
_refusals = RepeatedAction(REFUSED, per_key=5, total=200)
_request_limit = Throttle("scim", attempts=PER_MINUTE, seconds=60)


class TokenRefusedError(Exception):
    """The token is unknown, or its provider is no longer configured."""


def create(visitor: Visitor, provider: Provider) -> str:
    """Create a token, of which only a digest is stored. The provider's earlier token is no longer valid. Recorded."""
    text = f"scim_{secrets.token_urlsafe(32)}"
    record(MADE, visitor, detail=f"for {provider.key}")
    defaults = {"digest": _digest(text), "made_at": timezone.now(), "last_used_on": None}
    ProvisioningToken.objects.update_or_create(provider=provider.key, defaults=defaults)
    return text


def revoke(visitor: Visitor, key: str) -> bool:
    """Revoke a provider's token. Recorded. Returns whether one existed."""
    if not ProvisioningToken.objects.filter(provider=key).delete()[0]:
        return False
    record(REVOKED, visitor, detail=f"of {key}")
    return True


def authenticate(visitor: Visitor, text: str) -> Provider:
    """The provider whose token this is. The request counts towards the provider's limit.

    Raises:
        TokenRefusedError: the token is invalid. The first refusals are recorded.
        MustWaitError: too many invalid tokens came from this address.
        ThrottledError: the token is valid, but there were too many requests within a minute.
    """
    row = ProvisioningToken.objects.filter(digest=_digest(text)).first() if _PATTERN.fullmatch(text) else None
    provider = provider_of(row.provider) if row else None
    if row is None or provider is None:
        if _PATTERN.fullmatch(text):
            _refusals.record(visitor, visitor.address, None, f"of {row.provider}, which is not configured" if row else "no such token")
        _wrong_tokens.admit(visitor.address)
        raise TokenRefusedError
    _request_limit.check(provider.key)
    today = timezone.now().date()
    if row.last_used_on != today:
        ProvisioningToken.objects.filter(pk=row.pk).update(last_used_on=today)
    return provider


def _digest(text: str) -> str:
    # A token has 256 random bits, so a fast digest protects it as well as a slow one.
    return hashlib.sha256(text.encode()).hexdigest()
