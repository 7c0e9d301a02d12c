"""What a provider says of itself: its addresses and its keys (OpenID Connect Discovery 1.0), kept for an hour."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from chatui.accounts.sign_in_rules.provider import Provider, is_safe_address
from chatui.accounts.single_sign_on import requests
from chatui.accounts.single_sign_on.errors import ProviderAwayError

KEPT_SECONDS = 3600.0
LOOK_AGAIN_SECONDS = 30.0
"""How long an unknown key is not looked for again: otherwise forged tokens would make us ask the provider at will."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """A provider's addresses; ``user_info`` is empty where it has none. ``names_issuer``: it says in its answers who it is (RFC 9207)."""

    authorization: str
    token: str
    keys: str
    user_info: str
    takes_basic: bool
    names_issuer: bool


_metadata: dict[str, tuple[float, Metadata]] = {}
_keys: dict[str, tuple[float, KeySet]] = {}


def metadata_of(provider: Provider) -> Metadata:
    """The provider's addresses. Raises ProviderAwayError."""
    kept = _metadata.get(provider.issuer)
    if kept and time.monotonic() - kept[0] < KEPT_SECONDS:
        return kept[1]
    found = _read(provider, requests.get(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"))
    _metadata[provider.issuer] = (time.monotonic(), found)
    return found


def keys_of(provider: Provider, key_id: str | None) -> KeySet:
    """The keys with which the provider signs; asked for again where ``key_id`` is not among them. Raises ProviderAwayError."""
    address = metadata_of(provider).keys
    kept = _keys.get(address)
    if kept:
        age = time.monotonic() - kept[0]
        is_known = key_id is None or any(key.kid == key_id for key in kept[1].keys)
        if age < (KEPT_SECONDS if is_known else LOOK_AGAIN_SECONDS):
            return kept[1]
    try:
        found = KeySet.import_key_set(requests.get(address))  # type: ignore[arg-type]
    except (JoseError, KeyError, TypeError, ValueError):
        raise ProviderAwayError("the provider's keys cannot be read") from None
    _keys[address] = (time.monotonic(), found)
    return found


def forget() -> None:
    """Ask again at the next sign-in."""
    _metadata.clear()
    _keys.clear()


def _read(provider: Provider, said: dict[str, Any]) -> Metadata:
    if said.get("issuer") != provider.issuer:
        raise ProviderAwayError("the provider says that it is another issuer")
    addresses = [said.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
    user_info = said.get("userinfo_endpoint") or ""
    if not all(isinstance(address, str) and is_safe_address(address) for address in (*addresses, user_info or provider.issuer)):
        raise ProviderAwayError("the provider names an address without https")
    methods = said.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return Metadata(
        str(addresses[0]),
        str(addresses[1]),
        str(addresses[2]),
        str(user_info),
        takes_basic="client_secret_basic" in methods if isinstance(methods, list) else True,
        names_issuer=said.get("authorization_response_iss_parameter_supported") is True,
    )
