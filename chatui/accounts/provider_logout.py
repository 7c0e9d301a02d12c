"""Logout tokens: a provider says that somebody signed out there (OpenID Connect Back-Channel Logout 1.0).

A logout token (section 2.6) is checked as strictly as an ID token, and ID tokens are refused in its place.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from django.core.cache import cache

from chatui.accounts.openid import LEEWAY_SECONDS, BadSignInError, signed_claims
from chatui.accounts.sign_in_settings import Provider
from chatui.limits import CACHE_ERRORS

EVENT = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT_TOKEN_AGE_SECONDS = 300
_RESERVED_SECONDS = 30


@dataclass(frozen=True, slots=True)
class ProviderLogout:
    """Whom the provider has signed out: everywhere (``subject``), or in one of its sessions (``session``). One of them may be empty."""

    subject: str
    session: str


@contextlib.contextmanager
def use(provider: Provider, token: object) -> Iterator[ProviderLogout]:
    """A context manager around the logout, with the content of the token. A token works once; after a failed logout it may be sent again.

    Raises:
        BadSignInError: the token is not valid, or was used before.
        ProviderUnavailableError: the keys cannot be fetched.
    """
    found, token_id = _read_logout_token(provider, token)
    digest = hashlib.sha256(f"{provider.issuer} {token_id}".encode()).hexdigest()
    key = f"chatui:logout:{digest}"
    # While the cache is unavailable, a replayed token can end sessions again; not ending them at all would be worse.
    with contextlib.suppress(*CACHE_ERRORS):
        # Reserved only for a short time at first: if this process dies, the provider's next attempt must still work.
        if not cache.add(key, 1, _RESERVED_SECONDS):
            raise BadSignInError("the logout token was used before")
    try:
        yield found
    except BaseException:
        with contextlib.suppress(*CACHE_ERRORS):
            cache.delete(key)
        raise
    with contextlib.suppress(*CACHE_ERRORS):
        cache.set(key, 1, LOGOUT_TOKEN_AGE_SECONDS + 2 * LEEWAY_SECONDS)


def _read_logout_token(provider: Provider, token: object) -> tuple[ProviderLogout, str]:
    """The content of the token, and its id."""
    claims = signed_claims(provider, token, "logout token", LOGOUT_TOKEN_AGE_SECONDS, {"jti": {}, "events": {}})
    # An ID token has a nonce and no events: a stolen ID token must not be able to sign its person out.
    if "nonce" in claims or not isinstance(claims["events"], dict) or not isinstance(claims["events"].get(EVENT), dict):
        raise BadSignInError("the token is not a logout token")
    found = ProviderLogout(_claim_text(claims.get("sub", "")), _claim_text(claims.get("sid", "")))
    if not found.subject and not found.session:
        raise BadSignInError("the logout token has no subject or session")
    token_id = _claim_text(claims["jti"])
    if not token_id:
        raise BadSignInError("the logout token has no id")
    return found, token_id


def _claim_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 255:
        raise BadSignInError("the logout token is malformed")
    return value
