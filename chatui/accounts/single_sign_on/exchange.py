"""The authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0, RFC 7636): redirects the browser, and exchanges the
returned code for claims.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from django.utils.crypto import constant_time_compare

from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.single_sign_on import discovery, id_tokens, requests
from chatui.accounts.single_sign_on.errors import BadSignInError, ProviderUnavailableError

TIMEOUT_SECONDS = 600
"""How long a sign-in may take at the provider."""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in in progress: stored in the session of the browser that started it, and valid for one response.

    ``after`` is the path to redirect to afterwards. ``connects``: the key of a signed-in person who links the identity to their account,
    else empty. ``invitation``: the id and token of the invitation that they used, else empty.
    """

    provider: str
    after: str = ""
    connects: str = ""
    invitation: str = ""
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    at: float = field(default_factory=time.time)

    def dump(self) -> dict[str, Any]:
        """The values to store in the session."""
        return asdict(self)


def authorization_url(provider: Provider, pending: PendingSignIn, back: str) -> str:
    """The address to redirect the browser to. The provider redirects it back to ``back``. Raises ProviderUnavailableError."""
    digest = hashlib.sha256(pending.verifier.encode()).digest()
    fields = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": back,
        "scope": " ".join(provider.scopes),
        "state": pending.state,
        "nonce": pending.nonce,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    endpoint = discovery.metadata_of(provider).authorization
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"


def fetch_claims(provider: Provider, pending: PendingSignIn, response: Mapping[str, str], back: str) -> dict[str, Any]:
    """The provider's claims about the person, from its response at ``back``. Raises BadSignInError and ProviderUnavailableError."""
    if pending.provider != provider.key or not constant_time_compare(pending.state, response.get("state", "")):
        raise BadSignInError("this browser did not start this sign-in")
    if time.time() - pending.at > TIMEOUT_SECONDS:
        raise BadSignInError("it took too long")
    metadata = discovery.metadata_of(provider)
    if response.get("iss", "" if metadata.names_issuer else provider.issuer) != provider.issuer:
        raise BadSignInError("the response is from another issuer")
    if "error" in response or not response.get("code"):
        raise BadSignInError("the provider did not sign the person in")
    tokens = _tokens(provider, metadata, pending, response["code"], back)
    signed = id_tokens.claims_of(provider, tokens.get("id_token"), pending.nonce)
    return _with_user_info(metadata, tokens, signed)


def _tokens(provider: Provider, metadata: discovery.Metadata, pending: PendingSignIn, code: str, back: str) -> dict[str, Any]:
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": pending.verifier}
    try:
        secret = provider.secret()
    except (OSError, UnicodeDecodeError):
        raise ProviderUnavailableError("the client's secret cannot be read") from None
    if secret and metadata.takes_basic:
        # RFC 6749, section 2.3.1: both are form-encoded before they are joined.
        return requests.post(metadata.token, fields, (quote(provider.client_id, safe=""), quote(secret, safe="")))
    return requests.post(metadata.token, fields | {"client_id": provider.client_id} | ({"client_secret": secret} if secret else {}), None)


def _with_user_info(metadata: discovery.Metadata, tokens: dict[str, Any], signed: dict[str, Any]) -> dict[str, Any]:
    """The claims, completed with those from the user-info address. Signed claims take precedence."""
    bearer = tokens.get("access_token")
    if not metadata.user_info or not isinstance(bearer, str) or not bearer.isascii() or not bearer.isprintable():
        return signed
    more = requests.get(metadata.user_info, bearer=bearer)
    if more.get("sub") != signed["sub"]:
        # Section 5.3.2: otherwise one person's ID token could be combined with another person's groups.
        raise BadSignInError("the ID token and the user info are about two people")
    return {**more, **signed}
