"""Sign-ins of people at a tool server and its authorization server, which say of themselves what a test wants.

Whoever changes how a sign-in begins, ends or is stored changes it here, and in no test.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import pytest

from chatui.outbound.public_network import CheckedNetwork
from chatui.tools import tool_accounts
from chatui.tools.remote.definition import McpSpec
from chatui.tools.sign_in import kept
from chatui.tools.sign_in.door import SignInError, UnavailableError, door_of
from chatui.tools.sign_in.flow import PendingToolSignIn
from tests.support import peer
from tests.support.peer import Peer, PeerRequest

AUTHORIZER = "/.well-known/oauth-authorization-server"
BACK = "https://chat.example.org/settings/accounts/demo/back/"


@dataclass
class Provider:
    """A tool server and its authorization server at one address. ``changed``: what it says otherwise, by path."""

    changed: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    asked: list[PeerRequest] = field(default_factory=list)

    async def __call__(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        self.asked.append(request)
        found = self.changed.get(request.path, self._honest().get(request.path))
        if callable(found):
            await found(request, writer)
        elif found is None:
            await peer.send(writer, {}, 404)
        elif request.path == "/mcp":
            await peer.send(writer, {}, 401, extra=f"WWW-Authenticate: {found}\r\n")
        else:
            await peer.send(writer, found)

    def _honest(self) -> dict[str, Any]:
        return {
            "/mcp": f'Bearer error="invalid_token", resource_metadata="{self.url}/about"',
            "/about": self.resource(),
            AUTHORIZER: self.authorizer(),
            "/register": {"client_id": "c1"},
            "/token": {"access_token": "a1", "token_type": "Bearer", "refresh_token": "r1", "expires_in": 60},
        }

    def resource(self, **values: Any) -> dict[str, Any]:
        return {"resource": f"{self.url}/mcp", "authorization_servers": [self.url], **values}

    def authorizer(self, **values: Any) -> dict[str, Any]:
        ends = {f"{each}_endpoint": f"{self.url}/{each}" for each in ("token", "authorization")}
        about = {"issuer": self.url, "registration_endpoint": f"{self.url}/register", "code_challenge_methods_supported": ["S256"]}
        return {**about, **ends, "token_endpoint_auth_methods_supported": ["none"], **values}

    def count(self, path: str) -> int:
        """How often this path was asked for."""
        return sum(request.path == path for request in self.asked)


@contextmanager
def lying(**changed: Any) -> Iterator[tuple[Provider, Peer]]:
    """A provider that says this otherwise."""
    provider = Provider(changed)
    with peer.peer(provider) as served:
        provider.url = served.url
        yield provider, served


class NotSignedInError(Exception):
    """Why there is no sign-in, for the operator."""


class UnreachableError(NotSignedInError):
    """A server could not be reached, or its answer cannot be used now."""


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except UnavailableError as error:
        raise UnreachableError(str(error)) from None
    except SignInError as error:
        raise NotSignedInError(str(error)) from None


def spec_of(url: str, **oauth: Any) -> McpSpec:
    return McpSpec.model_validate({"name": "demo", "tools": ["add"], "url": f"{url}/mcp", "oauth": oauth})


@dataclass(frozen=True)
class Begun:
    """A sign-in that a person has begun."""

    pending: PendingToolSignIn
    """As it is in the session of their browser."""
    spec: McpSpec
    person: UUID

    @property
    def address(self) -> str:
        """Where the browser is sent."""
        return self.pending.address

    @property
    def sent(self) -> dict[str, str]:
        """What the browser takes along."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.address).query).items()}

    @property
    def issuer(self) -> str:
        return self.pending.authorizer.issuer

    @property
    def scopes(self) -> list[str]:
        return self.sent.get("scope", "").split()

    @property
    def right(self) -> dict[str, str]:
        """The right answer of the authorization server."""
        return {"state": self.pending.state, "code": "code", "iss": self.issuer}

    def aged(self, seconds: float) -> "Begun":
        """The same, begun so long ago."""
        return replace(self, pending=replace(self.pending, at=self.pending.at - seconds))

    def finished(self, answer: Mapping[str, str] | None = None, person: UUID | None = None, spec: McpSpec | None = None) -> Any:
        """The tokens for the answer, which another ``person`` may bring, or back to another server (``spec``). Raises NotSignedInError."""
        with _told():
            return tool_accounts.finish(spec or self.spec, person or self.person, self.pending, self.right if answer is None else answer)

    def connect(self) -> None:
        """Finish it, and store its tokens."""
        kept.store(self.person, kept.place_of(self.spec), self.finished())


def begin(
    url: str,
    *,
    back: str = BACK,
    person: UUID | None = None,
    seconds: float | None = None,
    resolver: Callable[[str, int], Awaitable[list[str]]] | None = None,
    place: str = "",
    **oauth: Any,
) -> Begun:
    """A person's sign-in at the server of this address, with this ``oauth`` in the tools file. ``seconds``: for each request; ``resolver``:
    looks up names; ``place``: of the row that staff entered instead. Raises NotSignedInError."""
    spec, who = spec_of(url, **oauth), person or uuid4()
    spec = spec.at_place(place) if place else spec
    other = {"seconds": seconds} if seconds else {"network": CheckedNetwork(resolver)} if resolver else {}
    with pytest.MonkeyPatch.context() as patch, _told():
        patch.setattr(tool_accounts, "door_of", lambda *given: replace(door_of(*given), **other))
        return Begun(tool_accounts.begin(spec, who, back, ""), spec, who)
