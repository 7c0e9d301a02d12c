"""Finds out where a person signs in for a tool server: its metadata (RFC 9728), then those of an authorization server (RFC 8414).

A server answers a request without a token with 401, and names its metadata (``resource_metadata``); if it does not, they are at a
well-known address. Metadata are a stranger's words: the resource must be the server's own, the issuer must be the one that was asked, to
the letter, and each address must be one that may be asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from chatui.outbound.addresses import origin
from chatui.tools.mcp import messages
from chatui.tools.remote import definition as credentials
from chatui.tools.remote.definition import McpSpec, OpenApiSpec
from chatui.tools.remote.offers import ServerError
from chatui.tools.sign_in.door import Door, SignInError

_CHALLENGE_CHARS = 4000
_BEARER = re.compile(r"(?i)(?:^|,)\s*bearer(?=\s|$)")
_PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
MAX_SCOPES = 50


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a server asks for in a 401 or 403 (RFC 6750, RFC 9728): where its metadata are, and which scopes a call needs."""

    metadata: str = ""
    scopes: tuple[str, ...] = ()
    error: str = ""


def challenge_of(headers: Sequence[str]) -> Challenge:
    """The challenge for a bearer token among these headers; an empty one if there is none."""
    for header in headers:
        text = header[:_CHALLENGE_CHARS]
        if begin := _BEARER.search(text):
            parameters = {name.lower(): quoted.replace("\\", "") or bare for name, quoted, bare in _PARAMETER.findall(text, begin.end())}
            return Challenge(parameters.get("resource_metadata", ""), scopes_of(parameters.get("scope", "")), parameters.get("error", ""))
    return Challenge()


def scopes_of(found: object) -> tuple[str, ...]:
    """The scopes in a list, or in a text with spaces, without any that cannot be one."""
    words = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
    return tuple(dict.fromkeys(word for word in words[:MAX_SCOPES] if isinstance(word, str) and _SCOPE.fullmatch(word)))


@dataclass(frozen=True, slots=True)
class Authorizer:
    """An authorization server."""

    issuer: str
    authorization: str
    token: str
    registration: str = ""
    """Where clients register; empty if it has no such address."""
    revocation: str = ""
    """Where tokens are revoked; empty if it has no such address."""
    methods: tuple[str, ...] = ("client_secret_basic",)
    """How clients show their secret."""
    names_issuer: bool = False
    """Whether its answers name the issuer (RFC 9207)."""
    reads_documents: bool = False
    """Whether it takes the address of a document about a client as the client's id (MCP specification of 2025-11-25, client id metadata
    documents)."""


@dataclass(frozen=True, slots=True)
class SignInTarget:
    """Where a person signs in."""

    authorizer: Authorizer
    resource: str
    """Whom the token is for (RFC 8707)."""
    scopes: tuple[str, ...]
    """What to ask for."""


async def find(spec: McpSpec | OpenApiSpec, door: Door) -> SignInTarget:
    """Raises SignInError if the server's metadata or those of its authorization server cannot be used."""
    oauth = spec.oauth
    if oauth is None:
        raise SignInError("the tools file has no oauth for this server")
    challenge = Challenge() if isinstance(spec, OpenApiSpec) else await _asked(spec, door)
    resource, issuers, scopes = await _resource(spec.url, door, challenge)
    if oauth.issuer and issuers and oauth.issuer not in issuers:
        raise SignInError("the server does not name the authorization server of the tools file")
    # Without metadata, as before RFC 9728 was required, the server is its own authorization server.
    issuer = oauth.issuer or next(iter(issuers), "")
    document = await _document(door, issuer or origin_as_written(spec.url), is_guess=not issuer)
    authorizer = _read_authorizer(door, document, for_people=oauth.grant == "person")
    return SignInTarget(authorizer, resource, tuple(oauth.scopes) or challenge.scopes or scopes)


def origin_as_written(url: str) -> str:
    """Scheme, host and port of an address, without a default port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


async def _asked(spec: McpSpec, door: Door) -> Challenge:
    """What the server answers to a request without a token."""
    try:
        headers = credentials.texts(spec.headers)
    except ServerError as error:
        raise SignInError(str(error)) from None
    hello = messages.request(0, "initialize", messages.hello())
    answer = await door.knock(spec.url, "the server", hello, {**headers, "Accept": "application/json, text/event-stream"})
    return challenge_of(answer.challenges) if answer.status in (401, 403) else Challenge()


async def _resource(url: str, door: Door, challenge: Challenge) -> tuple[str, list[str], tuple[str, ...]]:
    """The resource, its authorization servers and its scopes; of a server without metadata its address, and nothing."""
    what = "the server's metadata"
    named = [challenge.metadata] if challenge.metadata else list(_places(url, "oauth-protected-resource"))
    for place in named:
        answer = await door.get(place, what)
        if answer.status == 200 and answer.json_object:
            return _read_resource(url, answer.json_object)
    if challenge.metadata:
        raise SignInError(f"{what} cannot be read")
    return url, [], ()


def _read_resource(url: str, found: Mapping[str, Any]) -> tuple[str, list[str], tuple[str, ...]]:
    resource = found.get("resource")
    if not isinstance(resource, str) or not _is_resource_of(url, resource):
        raise SignInError("the server's metadata are of another resource")
    listed = found.get("authorization_servers")
    issuers = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    if not issuers:
        raise SignInError("the server's metadata name no authorization server")
    return resource, issuers[:10], scopes_of(found.get("scopes_supported"))


def _is_resource_of(url: str, resource: str) -> bool:
    """Whether the server at ``url`` may call itself so: its own address, or the beginning of it, as servers do whose host is one resource.
    Anything else would be a token for somebody else's server."""
    try:
        is_here = origin(resource) == origin(url)
    except ValueError:
        return False
    own, theirs = f"{urlsplit(url).path.rstrip('/')}/", f"{urlsplit(resource).path.rstrip('/')}/"
    return is_here and "/../" not in theirs and own.startswith(theirs) and not urlsplit(resource).query


def _places(url: str, name: str) -> Iterator[str]:
    """The well-known addresses of a document: with the path of ``url`` behind its name, then at the root."""
    base, path = origin_as_written(url), urlsplit(url).path.rstrip("/")
    if path:
        yield f"{base}/.well-known/{name}{path}"
    yield f"{base}/.well-known/{name}"


def _authorizer_places(issuer: str) -> Iterator[str]:
    """In the order of the MCP specification. None is the root's if the issuer has a path: that would be another issuer's."""
    base, path = origin_as_written(issuer), urlsplit(issuer).path.rstrip("/")
    yield f"{base}/.well-known/oauth-authorization-server{path}"
    yield f"{base}/.well-known/openid-configuration{path}"
    if path:
        yield f"{base}{path}/.well-known/openid-configuration"


async def _document(door: Door, issuer: str, *, is_guess: bool) -> Mapping[str, Any]:
    """The metadata of this issuer. ``is_guess``: nobody named it, so it may write itself with a slash at the end."""
    door.checked(issuer, "the authorization server")
    for place in _authorizer_places(issuer):
        answer = await door.get(place, "the authorization server's metadata")
        if answer.status == 200 and answer.json_object:
            if answer.json_object.get("issuer") not in (issuer, f"{issuer}/" if is_guess else issuer):
                # RFC 8414, section 3.3: otherwise one authorization server could pose as another, and get the codes that the other gives.
                raise SignInError("the authorization server's metadata are of another issuer")
            return answer.json_object
    raise SignInError("the server does not say where to sign in" if is_guess else "the authorization server has no metadata")


def _read_authorizer(door: Door, metadata: Mapping[str, Any], *, for_people: bool) -> Authorizer:
    challenges = metadata.get("code_challenge_methods_supported")
    if for_people and (not isinstance(challenges, list) or "S256" not in challenges):
        raise SignInError("the authorization server does not say that it supports PKCE with S256")
    methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return Authorizer(
        issuer=str(metadata["issuer"]),
        authorization=door.checked(metadata.get("authorization_endpoint"), "the authorization endpoint") if for_people else "",
        token=door.checked(metadata.get("token_endpoint"), "the token endpoint"),
        registration=_optional(door, metadata, "registration_endpoint"),
        revocation=_optional(door, metadata, "revocation_endpoint"),
        methods=tuple(each for each in methods if isinstance(each, str)) if isinstance(methods, list) else (),
        names_issuer=metadata.get("authorization_response_iss_parameter_supported") is True,
        reads_documents=metadata.get("client_id_metadata_document_supported") is True,
    )


def _optional(door: Door, metadata: Mapping[str, Any], name: str) -> str:
    return door.checked(metadata[name], f"the {name.replace('_', ' ')}") if metadata.get(name) else ""
