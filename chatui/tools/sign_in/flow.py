"""The exchanges with an authorization server: a person is sent there and comes back with a code, which becomes tokens; these are renewed,
and revoked. A client that nobody registered registers itself.

OAuth 2.1 with PKCE (RFC 7636), resource indicators (RFC 8707), issuer identification (RFC 9207), dynamic registration (RFC 7591) and
revocation (RFC 7009). What is received is checked as if a stranger had written it.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hmac import compare_digest
from typing import Any
from urllib.parse import quote, urlencode

from chatui.outbound.staff_addresses import staff_address_problem
from chatui.tools.remote.definition import ServerSpec
from chatui.tools.remote.offers import ServerError
from chatui.tools.sign_in.discovery import Authorizer, SignInTarget, scopes_of
from chatui.tools.sign_in.door import Door, DoorAnswer, SignInError, UnavailableError

TIMEOUT_SECONDS = 600
"""How long a sign-in may take at the authorization server."""
_MAX_CHARS = 16_384
_METHODS = ("client_secret_post", "client_secret_basic", "none")
"""The first that a server has. The official package's servers take a token with the second, but revoke none."""
CLIENT_NAME = "chatui"
DEFAULT_SECONDS = 3600.0
"""How long an access token counts as valid of which the server does not say it. If it ends earlier, the server says so with 401."""


class SignInRefusedError(SignInError):
    """The authorization server refused. ``is_of_client``: it does not accept us, whoever the person is."""

    def __init__(self, text: str, *, is_of_client: bool = False) -> None:
        super().__init__(text)
        self.is_of_client = is_of_client


@dataclass(frozen=True, slots=True)
class Client:
    """Who we are at an authorization server."""

    id: str
    secret: str = field(default="", repr=False)
    """Empty for a public client."""
    method: str = "none"
    """How the secret is shown."""
    expires_at: float = 0.0

    @property
    def is_valid(self) -> bool:
        return not self.expires_at or time.time() < self.expires_at


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a sign-in gave, with all that renewing and revoking it needs. ``expires_at``: in seconds since 1970."""

    issuer: str
    resource: str
    token_endpoint: str
    revocation_endpoint: str
    client: Client
    access: str = field(repr=False)
    renewal: str = field(default="", repr=False)
    expires_at: float = 0.0
    scopes: tuple[str, ...] = ()

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def load(cls, values: Mapping[str, Any]) -> Tokens:
        return cls(**{**values, "client": Client(**values["client"]), "scopes": tuple(values["scopes"])})


@dataclass(frozen=True, slots=True)
class PendingToolSignIn:
    """A sign-in that a person has begun: in the session of their browser, for one answer."""

    place: str
    """Which server."""
    person: str
    back: str
    """Where the authorization server sends them."""
    after: str
    """The path on which they go on."""
    authorizer: Authorizer
    resource: str
    scopes: tuple[str, ...]
    client_id: str
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    at: float = field(default_factory=time.time)

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def load(cls, values: Mapping[str, Any]) -> PendingToolSignIn:
        authorizer = values["authorizer"]
        made = Authorizer(**{**authorizer, "methods": tuple(authorizer["methods"])})
        return cls(**{**values, "authorizer": made, "scopes": tuple(values["scopes"])})

    @property
    def address(self) -> str:
        """Where the browser is sent."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        fields = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.back,
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": self.resource,
        } | ({"scope": " ".join(self.scopes)} if self.scopes else {})
        endpoint = self.authorizer.authorization
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"

    def code_of(self, answer: Mapping[str, str], person: str, place: str) -> str:
        """The code in the answer that a browser brought. Raises SignInError if it is not the answer to this."""
        if (self.person, self.place) != (person, place) or not compare_digest(self.state.encode(), answer.get("state", "").encode()):
            raise SignInError("this browser did not begin this sign-in")
        if not 0 <= time.time() - self.at <= TIMEOUT_SECONDS:
            raise SignInError("it took too long")
        # RFC 9207: where an answer must name its issuer, one that does not may come from another authorization server.
        if answer.get("iss", "" if self.authorizer.names_issuer else self.authorizer.issuer) != self.authorizer.issuer:
            raise SignInError("the answer is from another issuer")
        code = answer.get("code", "")
        if "error" in answer or not code or len(code) > _MAX_CHARS:
            raise SignInRefusedError("the authorization server did not sign the person in")
        return code


def fixed_client(spec: ServerSpec, authorizer: Authorizer) -> Client | None:
    """The client of the tools file; None if it names none. Raises SignInError if its secret is missing."""
    oauth = spec.oauth
    if oauth is None or not oauth.client_id:
        return None
    if oauth.client_secret is None:
        return Client(oauth.client_id)
    try:
        secret = oauth.client_secret.bare()
    except ServerError as error:
        raise SignInError(str(error)) from None
    return Client(
        oauth.client_id, secret, "client_secret_post" if "client_secret_basic" not in authorizer.methods else "client_secret_basic"
    )


def document_address(back: str) -> str:
    """Where the document about the client is whose answers come back to ``back``."""
    return f"{back.removesuffix('back/')}client.json"


def document(back: str) -> dict[str, Any]:
    """The metadata document of this client, which the authorization server reads. The client is public: it has no secret, and PKCE protects
    its codes."""
    return {**_about(back), "client_id": document_address(back), "token_endpoint_auth_method": "none"}


def _about(back: str) -> dict[str, Any]:
    return {
        "client_name": CLIENT_NAME,
        "redirect_uris": [back],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }


def documented_client(spec: ServerSpec, authorizer: Authorizer, back: str) -> Client | None:
    """The client whose id is the address of its document; None where the authorization server reads none, or cannot read ours."""
    if not authorizer.reads_documents or (authorizer.registration and "none" not in authorizer.methods):
        return None
    if spec.oauth is None or not spec.oauth.client_document or staff_address_problem(address := document_address(back)):
        return None
    return Client(address)


async def register(door: Door, found: SignInTarget, back: str) -> Client:
    """Register this installation (RFC 7591)."""
    authorizer = found.authorizer
    if not authorizer.registration:
        raise SignInError("the authorization server takes no registrations: the tools file needs client_id")
    method = next((each for each in _METHODS if each in authorizer.methods), "none")
    wanted = {**_about(back), "token_endpoint_auth_method": method} | ({"scope": " ".join(found.scopes)} if found.scopes else {})
    answer = await door.post_json(authorizer.registration, "the registration endpoint", wanted)
    if answer.status not in (200, 201):
        raise SignInError(f"the authorization server refused to register this installation (status {answer.status})")
    given = answer.json_object
    secret, method = _text(given.get("client_secret", "")), str(given.get("token_endpoint_auth_method") or method)
    client_id = _text(given.get("client_id"))
    if not client_id or method not in _METHODS or (method != "none" and not secret):
        raise SignInError("the authorization server's registration cannot be used")
    return Client(client_id, secret, method, _number(given.get("client_secret_expires_at")))


async def redeem(door: Door, pending: PendingToolSignIn, client: Client, code: str) -> Tokens:
    """The tokens for a code. Raises SignInError."""
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": pending.back, "code_verifier": pending.verifier}
    authorizer = pending.authorizer
    answer = await _asked(door, authorizer.token, client, fields | {"resource": pending.resource})
    blank = Tokens(authorizer.issuer, pending.resource, authorizer.token, authorizer.revocation, client, access="", scopes=pending.scopes)
    return _filled(blank, answer)


async def renew(door: Door, tokens: Tokens) -> Tokens:
    """The same with a new access token, and a new renewal token if the server rotates it.

    Raises:
        SignInRefusedError: the sign-in is over.
    """
    if not tokens.renewal:
        raise SignInRefusedError("the sign-in has expired")
    fields = {"grant_type": "refresh_token", "refresh_token": tokens.renewal, "resource": tokens.resource}
    return _filled(tokens, await _asked(door, tokens.token_endpoint, tokens.client, fields))


async def of_client(door: Door, found: SignInTarget, client: Client) -> Tokens:
    """The product's own tokens (client credentials)."""
    fields = {"grant_type": "client_credentials", "resource": found.resource}
    fields |= {"scope": " ".join(found.scopes)} if found.scopes else {}
    authorizer = found.authorizer
    blank = Tokens(authorizer.issuer, found.resource, authorizer.token, authorizer.revocation, client, access="", scopes=found.scopes)
    return replace(_filled(blank, await _asked(door, authorizer.token, client, fields)), renewal="")


async def revoke(door: Door, tokens: Tokens) -> bool:
    """Revoke the sign-in at the authorization server. Returns whether it did so; it may have no address for that. Never raises."""
    if not tokens.revocation_endpoint:
        return False
    kind, token = ("refresh_token", tokens.renewal) if tokens.renewal else ("access_token", tokens.access)
    fields, headers = _shown(tokens.client, {"token": token, "token_type_hint": kind})
    with suppress(SignInError):
        answer = await door.post_form(tokens.revocation_endpoint, "the revocation endpoint", fields, headers)
        return answer.status == 200
    return False


async def _asked(door: Door, endpoint: str, client: Client, fields: Mapping[str, str]) -> Mapping[str, Any]:
    sent, headers = _shown(client, fields)
    answer = await door.post_form(endpoint, "the token endpoint", sent, headers)
    if answer.status == 200:
        return answer.json_object
    raise _refusal(answer)


def _refusal(answer: DoorAnswer) -> SignInError:
    error = answer.json_object.get("error")
    if answer.status == 401 or error in ("invalid_client", "unauthorized_client"):
        return SignInRefusedError("the authorization server does not accept this installation's client", is_of_client=True)
    if answer.status == 400:
        return SignInRefusedError("the authorization server refused the sign-in")
    return UnavailableError(f"the token endpoint answered with status {answer.status}")


def _shown(client: Client, fields: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The fields and headers of a request in which the client says who it is."""
    if client.method == "client_secret_basic" and client.secret:
        # RFC 6749, section 2.3.1: both are form-encoded before they are joined.
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        # Some servers look the client up by the field even so; it is no second proof.
        return {**fields, "client_id": client.id}, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    secret = {"client_secret": client.secret} if client.secret else {}
    return {**fields, "client_id": client.id, **secret}, {}


def _filled(before: Tokens, answer: Mapping[str, Any]) -> Tokens:
    access = _text(answer.get("access_token"))
    if not access or str(answer.get("token_type", "")).lower() != "bearer":
        raise SignInError("the authorization server's answer has no bearer token")
    seconds = _number(answer.get("expires_in")) or DEFAULT_SECONDS
    scopes = scopes_of(answer.get("scope")) or before.scopes
    renewal = _text(answer.get("refresh_token", "")) or before.renewal
    return replace(before, access=access, renewal=renewal, expires_at=time.time() + seconds, scopes=scopes)


def _text(value: object) -> str:
    """A token or an id, if it can be sent in a header; else empty."""
    is_sendable = isinstance(value, str) and value.isascii() and value.isprintable() and " " not in value and len(value) <= _MAX_CHARS
    return value if is_sendable and isinstance(value, str) else ""


def _number(value: object) -> float:
    """Seconds, at most ten years of them or until then; else 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isinstance(value, int | float) and 0 < value < 1e11 else 0.0
