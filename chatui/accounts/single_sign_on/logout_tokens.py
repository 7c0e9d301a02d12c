"""Checks a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6) as strictly as an ID token, and refuses ID tokens."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.core.cache import cache

from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.single_sign_on import id_tokens
from chatui.accounts.single_sign_on.errors import BadSignInError
from chatui.throttle import CACHE_ERRORS

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
        cache.set(key, 1, LOGOUT_TOKEN_AGE_SECONDS + 2 * id_tokens.LEEWAY_SECONDS)


def _read_logout_token(provider: Provider, token: object) -> tuple[ProviderLogout, str]:
    """The content of the token, and its id."""
    from joserfc import jwt  # as in ``id_tokens``

    registry = jwt.JWTClaimsRegistry(
        leeway=id_tokens.LEEWAY_SECONDS,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        iat={"essential": True},
        jti={"essential": True},
        events={"essential": True},
    )
    claims = id_tokens.signed_claims(provider, token, registry)
    # An ID token has a nonce and no events: a stolen ID token must not be able to sign its person out.
    if "nonce" in claims or not isinstance(claims["events"], dict) or not isinstance(claims["events"].get(EVENT), dict):
        raise BadSignInError("the token is not a logout token")
    if not isinstance(claims["iat"], (int, float)) or time.time() - claims["iat"] > LOGOUT_TOKEN_AGE_SECONDS + id_tokens.LEEWAY_SECONDS:
        raise BadSignInError("the logout token is too old")
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
