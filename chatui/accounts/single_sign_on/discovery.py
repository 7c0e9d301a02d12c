"""Fetches a provider's metadata and keys (OpenID Connect Discovery 1.0), and caches them for an hour."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatui.accounts.sign_in_rules.provider import Provider, is_safe_address
from chatui.accounts.single_sign_on import requests
from chatui.accounts.single_sign_on.errors import ProviderUnavailableError

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

CACHE_SECONDS = 3600.0
RETRY_SECONDS = 30.0
"""How long to wait before fetching again after an unknown key or a failure, so that forged tokens cannot cause unlimited requests."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """A provider's addresses; ``user_info`` is empty if it has none. ``takes_basic``: it accepts HTTP Basic for the client's secret.
    ``names_issuer``: its responses name the issuer (RFC 9207)."""

    authorization: str
    token: str
    keys: str
    user_info: str
    takes_basic: bool
    names_issuer: bool


_metadata: dict[str, tuple[float, Metadata]] = {}
_keys: dict[str, tuple[float, KeySet]] = {}
_failed: dict[str, float] = {}
_fetch_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def metadata_of(provider: Provider) -> Metadata:
    """The provider's addresses. Raises ProviderUnavailableError."""
    cached = _metadata.get(provider.issuer)
    if cached and time.monotonic() - cached[0] < CACHE_SECONDS:
        return cached[1]
    found = _read_metadata(provider, requests.get(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"))
    _metadata[provider.issuer] = (time.monotonic(), found)
    return found


def keys_of(provider: Provider, key_id: str | None) -> KeySet:
    """The provider's signing keys, fetched again if ``key_id`` is not among them. Raises ProviderUnavailableError.

    Anybody can send a token, so only one request fetches keys at a time, and none for a while after a failure.
    """
    from joserfc.errors import JoseError  # as in ``id_tokens``
    from joserfc.jwk import KeySet

    if (found := _cached_keys(provider, key_id)) is not None:
        return found
    with _fetch_locks[provider.issuer]:
        # A request that waited finds the keys that the previous one fetched.
        if (found := _cached_keys(provider, key_id)) is not None:
            return found
        if time.monotonic() - _failed.get(provider.issuer, -RETRY_SECONDS) < RETRY_SECONDS:
            raise ProviderUnavailableError("the provider's keys could not be fetched a moment ago")
        try:
            found = KeySet.import_key_set(requests.get(metadata_of(provider).keys))  # type: ignore[arg-type]
        except ProviderUnavailableError:
            _failed[provider.issuer] = time.monotonic()
            raise
        except (JoseError, KeyError, TypeError, ValueError):
            _failed[provider.issuer] = time.monotonic()
            raise ProviderUnavailableError("the provider's keys cannot be read") from None
        _keys[provider.issuer] = (time.monotonic(), found)
        return found


def _cached_keys(provider: Provider, key_id: str | None) -> KeySet | None:
    cached = _keys.get(provider.issuer)
    if cached is None:
        return None
    is_known = key_id is None or any(key.kid == key_id for key in cached[1].keys)
    return cached[1] if time.monotonic() - cached[0] < (CACHE_SECONDS if is_known else RETRY_SECONDS) else None


def clear_cache() -> None:
    """Clear the cache, so that the next sign-in fetches everything again."""
    _metadata.clear()
    _keys.clear()
    _failed.clear()


def _read_metadata(provider: Provider, document: dict[str, Any]) -> Metadata:
    if document.get("issuer") != provider.issuer:
        raise ProviderUnavailableError("the provider's metadata is of another issuer")
    addresses = [document.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
    user_info = document.get("userinfo_endpoint") or ""
    if not all(isinstance(address, str) and is_safe_address(address) for address in (*addresses, user_info or provider.issuer)):
        raise ProviderUnavailableError("the provider's metadata has an address without https")
    methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return Metadata(
        str(addresses[0]),
        str(addresses[1]),
        str(addresses[2]),
        str(user_info),
        takes_basic="client_secret_basic" in methods if isinstance(methods, list) else True,
        names_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )
