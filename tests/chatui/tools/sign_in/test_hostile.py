"""Tool servers and authorization servers that lie: about who they are, where to go, and how much they have to say."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from django.test import Client as Browser
from pydantic import ValidationError

from chatui.outbound.public_network import CheckedNetwork
from chatui.tools import tool_accounts
from chatui.tools.remote import definition
from chatui.tools.remote.definition import McpSpec
from chatui.tools.remote.exchange import StatusError
from chatui.tools.sign_in import discovery, flow
from chatui.tools.sign_in.discovery import SignInTarget, challenge_of
from chatui.tools.sign_in.door import Door, SignInError, UnavailableError, door_of
from chatui.tools.sign_in.flow import Client, PendingToolSignIn, SignInRefusedError, Tokens
from chatui.tools.sign_in.tokens import SignIns
from tests.support import environment, peer
from tests.support.cases import for_each
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
            "/.well-known/oauth-authorization-server": self.authorizer(),
            "/register": {"client_id": "c1"},
            "/token": {"access_token": "a1", "token_type": "Bearer", "refresh_token": "r1", "expires_in": 60},
        }

    def resource(self, **values: Any) -> dict[str, Any]:
        return {"resource": f"{self.url}/mcp", "authorization_servers": [self.url], **values}

    def authorizer(self, **values: Any) -> dict[str, Any]:
        ends = {f"{each}_endpoint": f"{self.url}/{each}" for each in ("token", "authorization")}
        about = {"issuer": self.url, "registration_endpoint": f"{self.url}/register", "code_challenge_methods_supported": ["S256"]}
        return {**about, **ends, "token_endpoint_auth_methods_supported": ["none"], **values}


@contextmanager
def lying(**changed: Any) -> Iterator[tuple[Provider, Peer]]:
    provider = Provider(changed)
    with peer.peer(provider) as served:
        provider.url = served.url
        yield provider, served


def spec_of(url: str, **oauth: Any) -> McpSpec:
    return McpSpec.model_validate({"name": "demo", "tools": ["add"], "url": f"{url}/mcp", "oauth": oauth})


def find(url: str, door: Door | None = None, **oauth: Any) -> SignInTarget:
    spec = spec_of(url, **oauth)
    return asyncio.run(discovery.find(spec, door or door_of(spec, spec.url)))


def test_an_honest_server_is_found_with_what_it_asks_for() -> None:
    with lying() as (provider, _):
        found = find(provider.url)
        assert (found.authorizer.issuer, found.resource, found.authorizer.token) == (
            provider.url,
            f"{provider.url}/mcp",
            f"{provider.url}/token",
        )
        provider.changed["/mcp"] = f'Bearer scope="read write", resource_metadata="{provider.url}/about"'
        assert find(provider.url).scopes == ("read", "write") and find(provider.url, scopes=["mine"]).scopes == ("mine",)


def test_metadata_are_also_found_at_the_well_known_addresses_in_their_order() -> None:
    with lying() as (provider, _):
        provider.changed |= {"/mcp": "Bearer", "/.well-known/oauth-protected-resource": provider.resource(resource=provider.url)}
        assert find(provider.url).resource == provider.url
        provider.changed["/.well-known/oauth-protected-resource/mcp"] = provider.resource()
        assert find(provider.url).resource == f"{provider.url}/mcp"
        tenant = f"{provider.url}/tenant"
        provider.changed["/.well-known/oauth-protected-resource/mcp"] = provider.resource(authorization_servers=[tenant])
        own = provider.authorizer(issuer=tenant)
        for place in ("/tenant/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/tenant"):
            provider.changed[place] = own
            assert find(provider.url).authorizer.issuer == tenant
    with lying() as (provider, _):
        provider.changed |= {"/mcp": "Bearer", "/about": None}
        assert find(provider.url).authorizer.issuer == provider.url, "as servers are that are older than the metadata"


@pytest.mark.django_db
def test_an_authorization_server_that_reads_documents_gets_the_address_of_ours(client: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"origins": ("https://chat.example.org",)})
    address, person = "https://chat.example.org/settings/accounts/demo/client.json", uuid4()
    with lying() as (provider, _):
        provider.changed[AUTHORIZER] = provider.authorizer(client_id_metadata_document_supported=True)
        spec = spec_of(provider.url)
        pending = tool_accounts.begin(spec, person, BACK, "")
        assert pending.client_id == address and parse_qs(urlsplit(pending.address).query)["client_id"] == [address]
        tokens = tool_accounts.finish(spec, person, pending, {"state": pending.state, "code": "c", "iss": provider.url})
        assert (tokens.client, tokens.access) == (Client(address), "a1")
        asked = {request.path: request for request in provider.asked}
        assert "/register" not in asked and parse_qs(asked["/token"].body.decode())["client_id"] == [address]
        about = client.get(urlsplit(address).path).json()
        assert (about["client_id"], about["redirect_uris"], about["token_endpoint_auth_method"]) == (address, [BACK], "none")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("back", "said", "oauth"),
    [
        ("http://chat.example.org/settings/accounts/demo/back/", {}, {}),
        ("https://127.0.0.1/settings/accounts/demo/back/", {}, {}),
        ("https://chat.internal/settings/accounts/demo/back/", {}, {}),
        (BACK, {"client_id_metadata_document_supported": "true"}, {}),
        (BACK, {"token_endpoint_auth_methods_supported": ["client_secret_post"]}, {}),
        (BACK, {}, {"client_document": False}),
    ],
)
def test_where_a_document_cannot_be_read_the_installation_registers_itself(back: str, said: dict[str, Any], oauth: dict[str, Any]) -> None:
    with lying() as (provider, _):
        provider.changed[AUTHORIZER] = provider.authorizer(**{"client_id_metadata_document_supported": True, **said})
        provider.changed["/register"] = {"client_id": "c1", "client_secret": "s"}
        assert tool_accounts.begin(spec_of(provider.url, **oauth), uuid4(), back, "").client_id == "c1"


@dataclass(frozen=True)
class Lie:
    """``path``: where the provider says ``found``, in which ``URL`` is its address. ``told``: the error."""

    path: str
    found: Any
    told: str


LIES = [
    Lie("/about", {"resource": "https://bank.example/mcp", "authorization_servers": ["URL"]}, "of another resource"),
    Lie("/about", {"resource": "URL/mcp/other", "authorization_servers": ["URL"]}, "of another resource"),
    Lie("/about", {"resource": "URL/mc", "authorization_servers": ["URL"]}, "of another resource"),
    Lie("/about", {"resource": ["URL/mcp"], "authorization_servers": ["URL"]}, "of another resource"),
    Lie("/about", {"resource": "URL/mcp"}, "name no authorization server"),
    Lie("/about", [], "cannot be read"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["http://169.254.169.254/latest"]}, "without https"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["https://169.254.169.254"]}, "cannot be reached"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["https://10.0.0.1:8443"]}, "cannot be reached"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["https://[::1]"]}, "cannot be reached"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["https://2130706433/"]}, "may not be asked"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["https://metadata.internal"]}, "may not be asked"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["https://a@b.example"]}, "no http or https address"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["javascript:alert(1)"]}, "no http or https address"),
    Lie("/about", {"resource": "URL/mcp", "authorization_servers": ["file:///etc/passwd"]}, "no http or https address"),
    Lie("/mcp", 'Bearer resource_metadata="http://192.168.0.1/x"', "without https"),
    Lie("/mcp", 'Bearer resource_metadata="https://127.0.0.1:9/x"', "cannot be reached"),
    Lie(AUTHORIZER, {"issuer": "https://accounts.example.com"}, "of another issuer"),
    Lie(AUTHORIZER, {"issuer": "URL/"}, "of another issuer"),
    Lie(AUTHORIZER, {"issuer": "URL", "code_challenge_methods_supported": ["plain"]}, "PKCE"),
    Lie(AUTHORIZER, {"code_challenge_methods_supported": None}, "PKCE"),
    Lie(AUTHORIZER, {"token_endpoint": "http://10.0.0.7/token"}, "the token endpoint is an address without https"),
    Lie(AUTHORIZER, {"authorization_endpoint": "javascript:alert(1)"}, "the authorization endpoint is no"),
    Lie(AUTHORIZER, {"authorization_endpoint": "http://evil.example/"}, "the authorization endpoint is an address without https"),
    Lie(AUTHORIZER, {"authorization_endpoint": "https://evil.example/\r\nX: y"}, "the authorization endpoint is no address"),
    Lie(AUTHORIZER, {"revocation_endpoint": "http://10.0.0.7/"}, "the revocation endpoint is an address without https"),
    Lie(AUTHORIZER, {"registration_endpoint": 7}, "the registration endpoint is no address"),
]


def test_no_lie_of_metadata_is_followed() -> None:
    def refused(lie: Lie) -> None:
        with lying() as (provider, _):

            def here(value: Any) -> Any:
                if isinstance(value, str):
                    return value.replace("URL", provider.url)
                if isinstance(value, dict):
                    return {name: here(each) for name, each in value.items()}
                return [here(each) for each in value] if isinstance(value, list) else value

            found = here(lie.found)
            provider.changed[lie.path] = provider.authorizer(**found) if lie.path == AUTHORIZER else found
            with pytest.raises(SignInError) as error:
                find(provider.url)
            assert lie.told in str(error.value), error.value
            assert provider.url not in str(error.value) and "evil" not in str(error.value)

    for_each(LIES)(refused)()


def test_a_name_that_leads_into_a_private_network_is_not_asked() -> None:
    asked: list[str] = []

    async def private(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["93.184.215.14", "10.0.0.5"]

    with lying() as (provider, _):
        provider.changed["/about"] = provider.resource(authorization_servers=["https://login.example.org"])
        spec = spec_of(provider.url)
        with pytest.raises(UnavailableError):
            find(provider.url, replace(door_of(spec, spec.url), network=CheckedNetwork(private)))
        assert asked


def test_only_the_operator_opens_private_networks_and_only_for_their_own_issuer_without_that() -> None:
    with lying() as (first, _), lying() as (second, _):
        first.changed["/about"] = first.resource(authorization_servers=[second.url])
        with pytest.raises(SignInError, match="without https"):
            find(first.url)
        assert find(first.url, private_addresses=True).authorizer.issuer == second.url
        assert find(first.url, issuer=second.url).authorizer.issuer == second.url
        with pytest.raises(SignInError, match="does not name the authorization server of the tools file"):
            find(first.url, issuer=f"{second.url}/other")


def test_redirects_are_followed_nowhere() -> None:
    with lying() as (elsewhere, _), lying() as (provider, _):
        for path in ("/about", AUTHORIZER):
            provider.changed = {path: peer.saying(b"", 302, extra=f"Location: {elsewhere.url}{path}\r\n")}
            with pytest.raises(SignInError):
                find(provider.url)
        provider.changed = {"/token": peer.saying(b"", 307, extra=f"Location: {elsewhere.url}/token\r\n")}
        with pytest.raises(SignInError):
            redeem(provider.url)
        assert not elsewhere.asked


async def never(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def endless(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        writer.write(b" " * 65536)
        await writer.drain()


@pytest.mark.parametrize("path", ["/mcp", "/about", AUTHORIZER])
@pytest.mark.parametrize("answer", [never, endless])
def test_endless_and_silent_answers_cost_a_bounded_time(path: str, answer: Any) -> None:
    with lying() as (provider, _):
        provider.changed[path] = answer
        spec = spec_of(provider.url)
        began = time.monotonic()
        if (path, answer) == ("/mcp", endless):
            provider.changed["/.well-known/oauth-protected-resource"] = provider.resource()
            assert find(provider.url).authorizer.issuer == provider.url, "of a knock, nothing but the status is read"
        else:
            with pytest.raises(UnavailableError):
                find(provider.url, replace(door_of(spec, spec.url), seconds=1.0))
        assert time.monotonic() - began < 60


def pending_of(url: str) -> PendingToolSignIn:
    return PendingToolSignIn("demo x", "ada", BACK, "", find(url).authorizer, f"{url}/mcp", ("read",), "c1")


def redeem(url: str) -> Tokens:
    spec = spec_of(url)
    return asyncio.run(flow.redeem(door_of(spec, spec.url), pending_of(url), Client("c1"), "code"))


def test_the_request_and_the_exchange_carry_pkce_and_the_resource() -> None:
    with lying() as (provider, _):
        pending = pending_of(provider.url)
        sent = {name: values[0] for name, values in parse_qs(urlsplit(pending.address).query).items()}
        assert (sent["code_challenge_method"], sent["resource"], sent["redirect_uri"]) == ("S256", f"{provider.url}/mcp", BACK)
        assert pending.verifier not in pending.address and pending.verifier not in repr(pending) and pending.state not in repr(pending)
        redeem(provider.url)
        form = parse_qs(provider.asked[-1].body.decode())
        assert form["resource"] == [f"{provider.url}/mcp"] and len(form["code_verifier"][0]) >= 43 and form["redirect_uri"] == [BACK]


def test_an_answer_of_another_issuer_state_person_place_or_time_is_refused() -> None:
    with lying() as (provider, _):
        url, unpromised = provider.url, pending_of(provider.url)
        provider.changed[AUTHORIZER] = provider.authorizer(authorization_response_iss_parameter_supported=True)
        pending = pending_of(url)
    right = {"state": pending.state, "code": "x", "iss": url}
    assert pending.code_of(right, "ada", "demo x") == "x"
    wrong: dict[str, tuple[PendingToolSignIn, dict[str, str], str, str]] = {
        "no iss, though promised": (pending, {"state": pending.state, "code": "x"}, "ada", "demo x"),
        "another iss": (pending, {**right, "iss": f"{url}/"}, "ada", "demo x"),
        "another iss, not promised": (replace(unpromised, state=pending.state), {**right, "iss": "https://x"}, "ada", "demo x"),
        "another state": (pending, {**right, "state": "x"}, "ada", "demo x"),
        "a state that is no ASCII": (pending, {**right, "state": "é"}, "ada", "demo x"),
        "another person": (pending, right, "bob", "demo x"),
        "another server": (pending, right, "ada", "other x"),
        "too late": (replace(pending, at=time.time() - flow.TIMEOUT_SECONDS - 1), right, "ada", "demo x"),
        "from the future": (replace(pending, at=time.time() + 1000), right, "ada", "demo x"),
        "an error beside a code": (pending, {**right, "error": "access_denied"}, "ada", "demo x"),
        "no code": (pending, {**right, "code": ""}, "ada", "demo x"),
    }

    def refused(begun: PendingToolSignIn, answer: dict[str, str], person: str, place: str) -> None:
        with pytest.raises(SignInError):
            begun.code_of(answer, person, place)

    for_each(wrong.values())(refused)()


BAD_TOKENS: dict[str, Any] = {
    "another kind": {"access_token": "a", "token_type": "mac"},
    "none": {"token_type": "Bearer"},
    "a line break": {"access_token": "a\r\nX-Admin: 1", "token_type": "Bearer"},
    "a space": {"access_token": "a b", "token_type": "Bearer"},
    "no text": {"access_token": ["a"], "token_type": "Bearer"},
    "too long": {"access_token": "a" * 20_000, "token_type": "Bearer"},
    "a list": [],
}


def test_tokens_that_cannot_be_sent_are_refused() -> None:
    def refused(answer: Any) -> None:
        with lying(**{"/token": answer}) as (provider, _), pytest.raises(SignInError):
            redeem(provider.url)

    for_each(BAD_TOKENS.values())(refused)()


def test_what_a_token_endpoint_refuses_is_told_apart() -> None:
    for status, error, kind, of_client in (
        (400, "invalid_grant", SignInRefusedError, False),
        (401, "invalid_client", SignInRefusedError, True),
        (400, "invalid_client", SignInRefusedError, True),
        (503, "", UnavailableError, False),
    ):
        with lying(**{"/token": peer.saying({"error": error}, status)}) as (provider, _), pytest.raises(kind) as refused:
            redeem(provider.url)
        assert getattr(refused.value, "is_of_client", False) is of_client


def test_a_registration_that_cannot_be_used_is_refused() -> None:
    def refused(answer: Any) -> None:
        with lying(**{"/register": answer}) as (provider, _):
            spec = spec_of(provider.url)
            with pytest.raises(SignInError):
                asyncio.run(flow.register(door_of(spec, spec.url), find(provider.url), BACK))

    answers = {
        "no id": {},
        "an id with a line break": {"client_id": "a\nb"},
        "a method without its secret": {"client_id": "a", "token_endpoint_auth_method": "client_secret_post"},
        "a method of which nobody knows": {"client_id": "a", "token_endpoint_auth_method": "private_key_jwt"},
        "refused": peer.saying({}, 403),
    }
    for_each(answers.values())(refused)()


def test_challenges_are_read_as_they_are_written() -> None:
    for header, metadata, scopes in (
        ('Bearer resource_metadata="https://a/b"', "https://a/b", ()),
        ('bearer realm="x", resource_metadata=https://a/b, scope="a b"', "https://a/b", ("a", "b")),
        ('Basic realm="y", Bearer scope="a \\"b"', "", ("a",)),
        ('Basic realm="Bearer resource_metadata=x"', "", ()),
        ("Bearer", "", ()),
        ("Digest x", "", ()),
        ("Bearer " + 'scope="' + "a " * 5000 + '"', "", ()),
    ):
        found = challenge_of([header])
        assert (found.metadata, found.scopes) == (metadata, scopes), header


def test_the_tools_file_cannot_give_a_secret_to_whoever_asks() -> None:
    secret = {"client_secret": {"value": "s"}}
    wrong: dict[str, dict[str, Any]] = {
        "a client of any issuer": {"oauth": {"client_id": "a", **secret}},
        "a secret of nobody": {"oauth": secret},
        "client credentials without a client": {"oauth": {"grant": "client_credentials"}},
        "two authorizations": {"oauth": {}, "headers": {"authorization": {"value": "x"}}},
        "one session of all": {"oauth": {}, "sessions": "shared"},
        "a program": {"oauth": {}, "url": "", "command": ["x"]},
    }

    def refused(values: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            McpSpec.model_validate({"name": "demo", "tools": ["add"], "url": "https://a.example/mcp", **values})

    for_each(wrong.values())(refused)()


def test_a_token_is_sent_by_the_task_that_has_it_and_by_no_other() -> None:
    async def sent() -> str:
        await asyncio.sleep(0)
        return definition.headers({}).get("Authorization", "")

    async def call(token: str) -> list[str]:
        with definition.token(token):
            background = asyncio.create_task(sent())
            return [await sent(), await background]

    async def body() -> list[list[str]]:
        calls = [call(f"t{number}") for number in range(20)]
        return await asyncio.gather(*calls)

    assert asyncio.run(body()) == [[f"Bearer t{number}"] * 2 for number in range(20)]
    with definition.token("secret-token"):
        assert definition.without("a secret-token b", definition.secrets()) == "a (hidden) b"
    assert definition.headers({}) == {} and definition.secrets() == ()


def test_tokens_are_in_no_repr() -> None:
    tokens = Tokens("i", "r", "t", "v", Client("c", "s3cret"), "acc3ss", "r3newal")
    assert not {word for word in ("s3cret", "acc3ss", "r3newal") if word in repr(tokens)}
    assert Tokens.load(tokens.dump()) == tokens


def test_the_product_gets_one_token_for_everybody_and_another_when_that_is_refused() -> None:
    given = iter(f"a{number}" for number in range(9))
    accepted: set[str] = set()

    async def token(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        accepted.clear()
        accepted.add(next(given))
        await peer.send(writer, {"access_token": min(accepted), "token_type": "Bearer"})

    with lying(**{"/token": token}) as (provider, _):
        oauth = {"grant": "client_credentials", "issuer": provider.url, "client_id": "c", "client_secret": {"value": "s3cret"}}
        sign_ins = SignIns(spec_of(provider.url, **oauth))

        async def work() -> str:
            sent = definition.headers({})["Authorization"].removeprefix("Bearer ")
            if sent not in accepted:
                raise StatusError(401)
            return sent

        async def body() -> list[str]:
            first = await asyncio.gather(*(sign_ins.with_token(None, work) for _ in range(5)))
            accepted.clear()
            return [*first, await sign_ins.with_token(None, work)]

        assert asyncio.run(body()) == ["a0"] * 5 + ["a1"]
        form = parse_qs(provider.asked[-1].body.decode())
        assert (form["grant_type"], form["resource"]) == (["client_credentials"], [f"{provider.url}/mcp"])
        assert form["client_secret"] == ["s3cret"] and "authorization" not in provider.asked[-1].headers, "it takes none in a header"


def test_a_refused_or_misplaced_address_names_its_remedy() -> None:
    assert "headers or oauth" in str(StatusError(401)) and "older transport" in str(StatusError(405))
    assert str(StatusError(404)) == "the server answered with status 404"
