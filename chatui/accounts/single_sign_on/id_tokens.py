"""Checks an ID token (OpenID Connect Core 1.0, section 3.1.3.7): signature, issuer, audience, times and nonce, always all of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.single_sign_on import discovery
from chatui.accounts.single_sign_on.errors import BadSignInError

if TYPE_CHECKING:
    from joserfc import jwt

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Signatures with a key pair. With "none" or a shared secret, anybody or any other client could forge a token."""

LEEWAY_SECONDS = 120
ID_TOKEN_AGE_SECONDS = 600
MAX_CHARS = 64 * 1024


def claims_of(provider: Provider, token: object, nonce: str) -> dict[str, Any]:
    """The claims of a valid token. Raises BadSignInError for an invalid one, and ProviderUnavailableError if the keys cannot be fetched."""
    from joserfc import jwt  # imported late: 7 MB with cryptography, needed only if a provider is configured

    registry = jwt.JWTClaimsRegistry(
        leeway=LEEWAY_SECONDS,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        nonce={"essential": True, "value": nonce},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
    )
    claims = signed_claims(provider, token, registry)
    _check_other_claims(provider, claims)
    return claims


def signed_claims(provider: Provider, token: object, registry: jwt.JWTClaimsRegistry) -> dict[str, Any]:
    """The claims of a token that this provider has signed, if the registry accepts them. Raises as ``claims_of``."""
    from joserfc import jws, jwt  # as above
    from joserfc.errors import JoseError

    if not isinstance(token, str) or not token or len(token) > MAX_CHARS:
        raise BadSignInError("there is no token")
    try:
        key_id = jws.extract_compact(token.encode("ascii")).headers().get("kid")
        keys = discovery.keys_of(provider, key_id if isinstance(key_id, str) else None)
        claims: dict[str, Any] = jwt.decode(token, keys, algorithms=ALGORITHMS).claims
        registry.validate(claims)
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise BadSignInError(f"the token is not valid ({type(error).__name__})") from None
    return claims


def _check_other_claims(provider: Provider, claims: dict[str, Any]) -> None:
    audience = claims["aud"]
    others = [audience] if isinstance(audience, str) else audience
    if claims.get("azp", provider.client_id) != provider.client_id or (len(others) > 1 and "azp" not in claims):
        raise BadSignInError("the ID token is for another client")
    if not isinstance(claims["iat"], (int, float)) or time.time() - claims["iat"] > ID_TOKEN_AGE_SECONDS + LEEWAY_SECONDS:
        raise BadSignInError("the ID token is too old")
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
        raise BadSignInError("the ID token has no valid subject")
