"""Signs people in with an OpenID provider: requests, metadata and keys, tokens, and the authorization code flow.

Requests have one deadline, a size limit, and no redirects. A provider's metadata and keys (OpenID Connect Discovery 1.0) are cached for an
hour.

An ID token is checked for signature, issuer, audience, times and nonce, always all of them (OpenID Connect Core 1.0, section 3.1.3.7). The
flow uses PKCE, state and nonce (OpenID Connect Core 1.0, RFC 7636): the browser is redirected, and the returned code is exchanged for
claims.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from django.utils.crypto import constant_time_compare

from chatui.accounts.sign_in_settings import Provider, is_safe_address
from chatui.codes import ProductCode
from chatui.outbound.requests import JsonRequestError, request_json
from renderer.strict_json import finite, storable

if TYPE_CHECKING:
    from joserfc.jwk import KeySet


class SingleSignOnError(Exception):
    """The sign-in failed, and people see the sentence of ``code``, in an answer with ``status``. ``why`` is a fixed text for the audit log;
    it never quotes what the provider or a visitor sent."""

    code, status = ProductCode.SIGN_IN_FAILED, 400

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ProviderUnavailableError(SingleSignOnError):
    """The provider does not respond, or its response is unusable."""

    code, status = ProductCode.SIGN_IN_AWAY, 503


class BadSignInError(SingleSignOnError):
    """The response does not match the request: forged, replayed, expired, or refused by the provider."""


class NotAdmittedError(SingleSignOnError):
    """The provider knows this person, but the operator does not admit them."""

    code, status = ProductCode.SIGN_IN_REFUSED, 403


class NotListedError(NotAdmittedError):
    """The person is not, or no longer, among those who may enter. ``account``: the name of the account that they had so far, or empty."""

    account = ""


class AccountClosedError(SingleSignOnError):
    """The account is not active."""

    code, status = ProductCode.ACCOUNT_CLOSED, 403


class LinkedElsewhereError(SingleSignOnError):
    """The identity belongs to another account, or this account already has one at the provider."""

    code, status = ProductCode.LINKED_ELSEWHERE, 409


SECONDS = 5.0
MAX_BYTES = 512 * 1024


def get(address: str, *, bearer: str = "") -> dict[str, Any]:
    """The JSON object at ``address``. Raises ProviderUnavailableError."""
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    return _successful(*_request("GET", address, headers=headers))


def post(address: str, fields: Mapping[str, str], auth: tuple[str, str] | None) -> dict[str, Any]:
    """Send a form and return the JSON object in the response.

    Raises ProviderUnavailableError, also if the provider refuses the client, or BadSignInError if it refuses the request.
    """
    status, found = _request("POST", address, data=dict(fields), auth=auth)
    if status == 401 or (found or {}).get("error") in ("invalid_client", "unauthorized_client"):
        # RFC 6749, section 5.2: the operator's mistake, not the visitor's.
        raise ProviderUnavailableError("the provider did not accept client_id and client_secret")
    if status in (400, 403):
        raise BadSignInError("the provider did not accept the code")
    return _successful(status, found)


def _successful(status: int, found: dict[str, Any] | None) -> dict[str, Any]:
    if status != 200:
        raise ProviderUnavailableError(f"the provider responded with status {status}")
    if found is None:
        raise ProviderUnavailableError("the provider's response is not a JSON object")
    return found


def _request(method: str, address: str, **content: Any) -> tuple[int, dict[str, Any] | None]:
    if not is_safe_address(address):
        raise ProviderUnavailableError("the provider's metadata has an address without https")
    try:
        return asyncio.run(request_json(method, address, seconds=SECONDS, max_bytes=MAX_BYTES, uses_environment=True, **content))
    except JsonRequestError as error:
        raise ProviderUnavailableError(f"the provider {error}") from None


CACHE_SECONDS = 3600.0
RETRY_SECONDS = 30.0
"""How long to wait before fetching again after an unknown key or a failure, so that forged tokens cannot cause unlimited requests."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """A provider's addresses, and what it can do."""

    authorization: str
    token: str
    keys: str
    user_info: str
    """Empty if it has none."""
    takes_basic: bool
    """Whether it accepts HTTP Basic for the client's secret."""
    names_issuer: bool
    """Whether its responses name the issuer (RFC 9207)."""


_metadata: dict[str, tuple[float, Metadata]] = {}
_keys: dict[str, tuple[float, KeySet]] = {}
_failed: dict[str, float] = {}
_fetch_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def metadata_of(provider: Provider) -> Metadata:
    """The provider's addresses. Raises ProviderUnavailableError."""
    cached = _metadata.get(provider.issuer)
    if cached and time.monotonic() - cached[0] < CACHE_SECONDS:
        return cached[1]
    found = _read_metadata(provider, get(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"))
    _metadata[provider.issuer] = (time.monotonic(), found)
    return found


def keys_of(provider: Provider, key_id: str | None) -> KeySet:
    """The provider's signing keys, fetched again if ``key_id`` is not among them. Raises ProviderUnavailableError.

    Anybody can send a token, so only one request fetches keys at a time, and none for a while after a failure.
    """
    if (keys := _cached_keys(provider, key_id)) is not None:
        return keys
    with _fetch_locks[provider.issuer]:
        # A request that waited finds the keys that the previous one fetched.
        if (keys := _cached_keys(provider, key_id)) is not None:
            return keys
        if time.monotonic() - _failed.get(provider.issuer, -RETRY_SECONDS) < RETRY_SECONDS:
            raise ProviderUnavailableError("the provider's keys could not be fetched a moment ago")
        try:
            keys = _read_keys(get(metadata_of(provider).keys))
        except ProviderUnavailableError:
            _failed[provider.issuer] = time.monotonic()
            raise
        _keys[provider.issuer] = (time.monotonic(), keys)
        return keys


def _read_keys(document: dict[str, Any]) -> KeySet:
    """The keys that can be used. Single ones of unknown kinds, or with mistakes, are ignored (RFC 7517, section 5)."""
    from joserfc.errors import JoseError  # imported late, as in ``claims_of``
    from joserfc.jwk import KeySet

    listed, good = document.get("keys"), []
    for each in listed if isinstance(listed, list) else []:
        with contextlib.suppress(JoseError, AttributeError, KeyError, TypeError, ValueError):
            good += KeySet.import_key_set({"keys": [each]}).keys
    if not good:
        raise ProviderUnavailableError("the provider's keys cannot be read")
    return KeySet(good)


def _cached_keys(provider: Provider, key_id: str | None) -> KeySet | None:
    cached = _keys.get(provider.issuer)
    if cached is None:
        return None
    is_known = key_id is None or any(key.kid == key_id for key in cached[1].keys)
    return cached[1] if time.monotonic() - cached[0] < (CACHE_SECONDS if is_known else RETRY_SECONDS) else None


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


ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Signatures with a key pair. With "none" or a shared secret, anybody or any other client could forge a token."""

LEEWAY_SECONDS = 120
ID_TOKEN_AGE_SECONDS = 600
MAX_CHARS = 64 * 1024


def claims_of(provider: Provider, token: object, nonce: str) -> dict[str, Any]:
    """The claims of a valid token. Raises BadSignInError for an invalid one, and ProviderUnavailableError if the keys cannot be fetched."""
    needed = {"nonce": {"value": nonce}, "sub": {}, "exp": {}}
    claims = signed_claims(provider, token, "ID token", ID_TOKEN_AGE_SECONDS, needed)
    audience = claims["aud"]
    others = [audience] if isinstance(audience, str) else audience
    if claims.get("azp", provider.client_id) != provider.client_id or (len(others) > 1 and "azp" not in claims):
        raise BadSignInError("the ID token is for another client")
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
        raise BadSignInError("the ID token has no valid subject")
    return claims


def signed_claims(provider: Provider, token: object, kind: str, seconds: int, needed: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The claims of a token that this provider has signed for us, at most ``seconds`` ago. ``needed``: the claims that it must have besides
    issuer, audience and time, with the value of some. Raises as ``claims_of``."""
    from joserfc import jws, jwt  # imported late: 7 MB with cryptography, needed only if a provider is configured
    from joserfc.errors import JoseError

    if not isinstance(token, str) or not token or len(token) > MAX_CHARS:
        raise BadSignInError("there is no token")
    rules: dict[str, Mapping[str, str]] = {"iss": {"value": provider.issuer}, "aud": {"value": provider.client_id}, "iat": {}, **needed}
    essential: dict[str, Any] = {name: {"essential": True, **rule} for name, rule in rules.items()}
    registry = jwt.JWTClaimsRegistry(leeway=LEEWAY_SECONDS, **essential)
    try:
        key_id = jws.extract_compact(token.encode("ascii")).headers().get("kid")
        keys = keys_of(provider, key_id if isinstance(key_id, str) else None)
        claims: dict[str, Any] = jwt.decode(token, keys, algorithms=ALGORITHMS).claims
        _check_times(claims)
        registry.validate(claims)
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise BadSignInError(f"the token is not valid ({type(error).__name__})") from None
    if not isinstance(claims["iat"], (int, float)) or time.time() - claims["iat"] > seconds + LEEWAY_SECONDS:
        raise BadSignInError(f"the {kind} is too old")
    found = _storable(claims)
    if any(name in claims and found.get(name) != claims[name] for name in _OF_THE_TOKEN):
        raise BadSignInError("the token holds a text that cannot be stored")
    return found


_OF_THE_TOKEN = ("iss", "aud", "azp", "nonce", "sub", "sid", "jti", "events")
"""Claims that say for whom and for what a token is. All others are about the person, who may be signed in without them."""


def _storable(claims: Mapping[str, Any]) -> dict[str, Any]:
    """The claims but for those, and those items of a list, with a character or a number that no database can store. Replacing it could make
    two people, or two groups, one.

    Raises:
        BadSignInError: they are nested too deep.
    """
    try:
        given = {name: _without_unstorable(each) for name, each in claims.items()}
        return {name: value for name, value in given.items() if _is_storable(value)}
    except RecursionError:
        raise BadSignInError("the claims are nested too deep") from None


def _without_unstorable(value: Any) -> Any:
    match value:
        case list():
            return [_without_unstorable(each) for each in value if isinstance(each, list | dict) or _is_storable(each)]
        case dict():
            return {name: _without_unstorable(each) for name, each in value.items()}
        case _:
            return value


def _is_storable(value: object) -> bool:
    return bool(finite(storable(value)) == value)


_LAST_TIME = 253_402_300_799
"""The end of the year 9999, in seconds since 1970. A token may also have numbers that are too large for a date, and NaN."""


def _check_times(claims: Mapping[str, Any]) -> None:
    """Raises BadSignInError if one of the times cannot be a time. NaN cannot: it is neither before nor after anything."""
    times = [claims[name] for name in ("exp", "nbf", "iat", "auth_time") if claims.get(name) is not None]
    if not all(isinstance(each, (int, float)) and not isinstance(each, bool) and 0 <= each <= _LAST_TIME for each in times):
        raise BadSignInError("the token has an invalid time")


TIMEOUT_SECONDS = 600
"""How long a sign-in may take at the provider."""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in in progress: stored in the session of the browser that started it, and valid for one response."""

    provider: str
    after: str = ""
    """The path to redirect to afterwards."""
    connects: str = ""
    """The key of a signed-in person who links the identity to their account, else empty."""
    confirms: str = ""
    """The key of one whom the provider is to ask anew, else empty."""
    invitation: str = ""
    """The id and token of the invitation that they used, else empty."""
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    at: float = field(default_factory=time.time)

    def dump(self) -> dict[str, Any]:
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
    } | ({"max_age": "0"} if pending.confirms else {})
    endpoint = metadata_of(provider).authorization
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"


def fetch_claims(provider: Provider, pending: PendingSignIn, response: Mapping[str, str], back: str) -> dict[str, Any]:
    """The provider's claims about the person, from its response at ``back``. Raises BadSignInError and ProviderUnavailableError."""
    if pending.provider != provider.key or not constant_time_compare(pending.state, response.get("state", "")):
        raise BadSignInError("this browser did not start this sign-in")
    if time.time() - pending.at > TIMEOUT_SECONDS:
        raise BadSignInError("it took too long")
    metadata = metadata_of(provider)
    if response.get("iss", "" if metadata.names_issuer else provider.issuer) != provider.issuer:
        raise BadSignInError("the response is from another issuer")
    if "error" in response or not response.get("code"):
        raise BadSignInError("the provider did not sign the person in")
    tokens = _tokens(provider, metadata, pending, response["code"], back)
    signed = claims_of(provider, tokens.get("id_token"), pending.nonce)
    if pending.confirms and not _was_asked_anew(pending, signed):
        raise BadSignInError("the provider did not ask the person again")
    return _with_user_info(provider, metadata, tokens, signed)


SLOW_SECONDS = 5


def _was_asked_anew(pending: PendingSignIn, signed: dict[str, Any]) -> bool:
    """Whether the person authenticated at the provider after they were sent there (OpenID Connect Core 1.0, section 3.1.2.1).

    Only durations are compared, one by the provider's clock and one by ours, so it does not matter if these differ.
    """
    at = signed.get("auth_time")
    if not isinstance(at, (int, float)) or isinstance(at, bool):
        return False
    # A time after the token's own is no time: a provider that counts milliseconds, say, would confirm everything.
    age: float = signed["iat"] - at
    return -SLOW_SECONDS <= age <= time.time() - pending.at + SLOW_SECONDS


def _tokens(provider: Provider, metadata: Metadata, pending: PendingSignIn, code: str, back: str) -> dict[str, Any]:
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": pending.verifier}
    try:
        secret = provider.secret()
    except (OSError, UnicodeDecodeError):
        raise ProviderUnavailableError("the client's secret cannot be read") from None
    if secret and metadata.takes_basic:
        # RFC 6749, section 2.3.1: both are form-encoded before they are joined.
        return post(metadata.token, fields, (quote(provider.client_id, safe=""), quote(secret, safe="")))
    return post(metadata.token, fields | {"client_id": provider.client_id} | ({"client_secret": secret} if secret else {}), None)


def _with_user_info(provider: Provider, metadata: Metadata, tokens: dict[str, Any], signed: dict[str, Any]) -> dict[str, Any]:
    """The claims, completed with those from the user-info address. Signed claims take precedence."""
    bearer = tokens.get("access_token")
    if not metadata.user_info or not isinstance(bearer, str) or not bearer.isascii() or not bearer.isprintable():
        return signed
    more = _storable(get(metadata.user_info, bearer=bearer))
    if more.get("sub") != signed["sub"]:
        # Section 5.3.2: otherwise one person's ID token could be combined with another person's groups.
        raise BadSignInError("the ID token and the user info are about two people")
    return merged(provider, signed, more)


_GROUP_MARKS = ("_claim_names", "_claim_sources", "hasgroups")
"""What a provider sends instead of groups if there are too many (OpenID Connect Core 1.0, section 5.6.2; the last one Entra ID)."""


def merged(provider: Provider, signed: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The signed claims, completed with ``more``. Claims that belong together come from one source: an address with the word that it is
    verified, and groups with the mark that some are left out.
    """
    for claims in (("email", "email_verified"), (provider.groups_claim[0], *_GROUP_MARKS)):
        source = signed if any(name in signed for name in claims) else more
        signed, more = ({name: value for name, value in each.items() if name not in claims or each is source} for each in (signed, more))
    return {**more, **signed}
