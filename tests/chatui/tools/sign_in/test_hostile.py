"""Tool servers and authorization servers that lie: about who they are, where to go, and how much they have to say."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from django.test import Client as Browser
from pydantic import ValidationError

from chatui.models.user import User
from chatui.tools.remote.definition import McpSpec
from tests.support import environment, peer
from tests.support.cases import for_each
from tests.support.limits import limit
from tests.support.mcp_calls import NotListedError, Turn, listed
from tests.support.mcp_server import Mcp
from tests.support.peer import PeerRequest
from tests.support.tool_calls import RefusedError
from tests.support.tool_sign_ins import AUTHORIZER, BACK, NotSignedInError, UnreachableError, begin, lying, spec_of

pytestmark = pytest.mark.django_db

TIMEOUT_SECONDS = limit("chatui.tools.sign_in", "TIMEOUT_SECONDS")


def test_an_honest_server_is_found_with_what_it_asks_for() -> None:
    with lying() as (provider, _):
        found = begin(provider.url)
        assert (found.issuer, found.sent["resource"]) == (provider.url, f"{provider.url}/mcp")
        assert found.address.startswith(f"{provider.url}/authorization?") and found.scopes == []
        provider.changed["/mcp"] = f'Bearer scope="read write", resource_metadata="{provider.url}/about"'
        assert begin(provider.url).scopes == ["read", "write"] and begin(provider.url, scopes=["mine"]).scopes == ["mine"]


def test_metadata_are_also_found_at_the_well_known_addresses_in_their_order() -> None:
    with lying() as (provider, _):
        provider.changed |= {"/mcp": "Bearer", "/.well-known/oauth-protected-resource": provider.resource(resource=provider.url)}
        assert begin(provider.url).sent["resource"] == provider.url
        provider.changed["/.well-known/oauth-protected-resource/mcp"] = provider.resource()
        assert begin(provider.url).sent["resource"] == f"{provider.url}/mcp"
        tenant = f"{provider.url}/tenant"
        provider.changed["/.well-known/oauth-protected-resource/mcp"] = provider.resource(authorization_servers=[tenant])
        own = provider.authorizer(issuer=tenant)
        for place in ("/tenant/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/tenant"):
            provider.changed[place] = own
            assert begin(provider.url).issuer == tenant
    with lying() as (provider, _):
        provider.changed |= {"/mcp": "Bearer", "/about": None}
        assert begin(provider.url).issuer == provider.url, "as servers are that are older than the metadata"


def test_an_authorization_server_that_reads_documents_gets_the_address_of_ours(client: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"origins": ("https://chat.example.org",)})
    address = "https://chat.example.org/settings/accounts/demo/client.json"
    with lying() as (provider, _):
        provider.changed[AUTHORIZER] = provider.authorizer(client_id_metadata_document_supported=True)
        found = begin(provider.url)
        assert found.sent["client_id"] == address
        assert found.finished().access == "a1"
        asked = {request.path: request for request in provider.asked}
        assert "/register" not in asked and parse_qs(asked["/token"].body.decode())["client_id"] == [address]
        about = client.get(urlsplit(address).path).json()
        assert (about["client_id"], about["redirect_uris"], about["token_endpoint_auth_method"]) == (address, [BACK], "none")


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
        assert begin(provider.url, back=back, **oauth).sent["client_id"] == "c1"


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
            with pytest.raises(NotSignedInError) as error:
                begin(provider.url)
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
        with pytest.raises(UnreachableError):
            begin(provider.url, resolver=private)
        assert asked


def test_only_the_operator_opens_private_networks_and_only_for_their_own_issuer_without_that() -> None:
    with lying() as (first, _), lying() as (second, _):
        first.changed["/about"] = first.resource(authorization_servers=[second.url])
        with pytest.raises(NotSignedInError, match="without https"):
            begin(first.url)
        assert begin(first.url, private_addresses=True).issuer == second.url
        assert begin(first.url, issuer=second.url).issuer == second.url
        with pytest.raises(NotSignedInError, match="does not name the authorization server of the tools file"):
            begin(first.url, issuer=f"{second.url}/other")


def test_redirects_are_followed_nowhere() -> None:
    with lying() as (elsewhere, _), lying() as (provider, _):
        for path in ("/about", AUTHORIZER):
            provider.changed = {path: peer.saying(b"", 302, extra=f"Location: {elsewhere.url}{path}\r\n")}
            with pytest.raises(NotSignedInError):
                begin(provider.url)
        provider.changed = {"/token": peer.saying(b"", 307, extra=f"Location: {elsewhere.url}/token\r\n")}
        with pytest.raises(NotSignedInError):
            begin(provider.url).finished()
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
        began = time.monotonic()
        if (path, answer) == ("/mcp", endless):
            provider.changed["/.well-known/oauth-protected-resource"] = provider.resource()
            assert begin(provider.url).issuer == provider.url, "of a knock, nothing but the status is read"
        else:
            with pytest.raises(UnreachableError):
                begin(provider.url, seconds=1.0)
        assert time.monotonic() - began < 60


def test_the_request_and_the_exchange_carry_pkce_and_the_resource() -> None:
    with lying() as (provider, _):
        found = begin(provider.url)
        sent, pending = found.sent, found.pending
        assert (sent["code_challenge_method"], sent["resource"], sent["redirect_uri"]) == ("S256", f"{provider.url}/mcp", BACK)
        found.finished()
        form = parse_qs(provider.asked[-1].body.decode())
        assert form["resource"] == [f"{provider.url}/mcp"] and form["redirect_uri"] == [BACK]
        [verifier] = form["code_verifier"]
        assert (
            len(verifier) >= 43 and verifier not in found.address and verifier not in repr(pending) and sent["state"] not in repr(pending)
        )


def test_an_answer_of_another_issuer_state_person_place_or_time_is_refused() -> None:
    with lying() as (provider, _):
        url, unpromised = provider.url, begin(provider.url)
        provider.changed[AUTHORIZER] = provider.authorizer(authorization_response_iss_parameter_supported=True)
        begun = begin(url)
        right, state = begun.right, begun.right["state"]
        wrong: dict[str, Any] = {
            "no iss, though promised": lambda: begun.finished({"state": state, "code": "x"}),
            "another iss": lambda: begun.finished({**right, "iss": f"{url}/"}),
            "another iss, not promised": lambda: unpromised.finished({**unpromised.right, "iss": "https://x"}),
            "another state": lambda: begun.finished({**right, "state": "x"}),
            "a state that is no ASCII": lambda: begun.finished({**right, "state": "é"}),
            "another person": lambda: begun.finished(person=uuid4()),
            "another server": lambda: begun.finished(spec=spec_of(f"{url}/other")),
            "too late": lambda: begun.aged(TIMEOUT_SECONDS + 1).finished(),
            "from the future": lambda: begun.aged(-1000).finished(),
            "an error beside a code": lambda: begun.finished({**right, "error": "access_denied"}),
            "no code": lambda: begun.finished({**right, "code": ""}),
        }

        def refused(finish: Any) -> None:
            with pytest.raises(NotSignedInError):
                finish()

        for_each(wrong.values())(refused)()
        assert provider.count("/token") == 0
        assert begun.finished().access == unpromised.finished({"state": unpromised.right["state"], "code": "x"}).access == "a1"


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
        with lying(**{"/token": answer}) as (provider, _), pytest.raises(NotSignedInError):
            begin(provider.url).finished()

    for_each(BAD_TOKENS.values())(refused)()


@pytest.mark.parametrize(
    ("status", "error", "is_unreachable", "is_of_client"),
    [
        (400, "invalid_grant", False, False),
        (401, "invalid_client", False, True),
        (400, "invalid_client", False, True),
        (503, "", True, False),
    ],
)
def test_a_client_that_a_token_endpoint_refuses_is_registered_anew(
    status: int, error: str, is_unreachable: bool, is_of_client: bool
) -> None:
    with lying() as (provider, _):
        begun = begin(provider.url)
        provider.changed["/token"] = peer.saying({"error": error}, status)
        with pytest.raises(NotSignedInError) as refused:
            begun.finished()
        assert isinstance(refused.value, UnreachableError) is is_unreachable
        begin(provider.url)
        assert provider.count("/register") == 1 + is_of_client


def test_a_registration_that_cannot_be_used_is_refused() -> None:
    def refused(answer: Any) -> None:
        with lying(**{"/register": answer}) as (provider, _), pytest.raises(NotSignedInError, match="regist"):
            begin(provider.url)

    answers = {
        "no id": {},
        "an id with a line break": {"client_id": "a\nb"},
        "a method without its secret": {"client_id": "a", "token_endpoint_auth_method": "client_secret_post"},
        "a method of which nobody knows": {"client_id": "a", "token_endpoint_auth_method": "private_key_jwt"},
        "refused": peer.saying({}, 403),
    }
    for_each(answers.values())(refused)()


def test_challenges_are_read_as_they_are_written() -> None:
    def read(header: str, has_metadata: bool, scopes: list[str]) -> None:
        with lying() as (provider, _):
            provider.changed["/mcp"] = header.replace("URL", provider.url)
            assert (begin(provider.url).scopes, provider.count("/about") == 1) == (scopes, has_metadata)

    for_each(
        [
            ('Bearer resource_metadata="URL/about"', True, []),
            ('bearer realm="x", resource_metadata=URL/about, scope="a b"', True, ["a", "b"]),
            ('Basic realm="y", Bearer scope="a \\"b"', False, ["a"]),
            ('Basic realm="Bearer resource_metadata=URL/about"', False, []),
            ("Bearer", False, []),
            ("Digest x", False, []),
            ("Bearer " + 'scope="' + "a " * 5000 + '"', False, []),
        ]
    )(read)()


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


@pytest.mark.django_db(transaction=True)
def test_a_call_that_lacks_scopes_is_not_made_and_they_are_asked_for_with_the_next_sign_in(ada: User) -> None:
    with lying() as (provider, _):
        begin(provider.url, person=ada.pk).connect()
        turn = Turn(url=f"{provider.url}/mcp", oauth={}, sessions="conversation").of(ada.pk)
        told = 'Bearer error="insufficient_scope", scope="notes notes.write"'
        provider.changed["/mcp"] = peer.saying({}, 403, extra=f"WWW-Authenticate: {told}\r\n")
        with pytest.raises(RefusedError, match="does not allow this"):
            turn.call()
        provider.changed["/mcp"] = f'Bearer resource_metadata="{provider.url}/about"'
        assert begin(provider.url, person=ada.pk).scopes == ["notes", "notes.write"]
        assert begin(provider.url).scopes == [], "nobody else is asked for them"


def test_tokens_are_in_no_repr() -> None:
    secret = {"access_token": "acc3ss", "token_type": "Bearer", "refresh_token": "r3newal"}
    with lying(**{"/token": secret, "/register": {"client_id": "c", "client_secret": "s3cret"}}) as (provider, _):
        provider.changed[AUTHORIZER] = provider.authorizer(token_endpoint_auth_methods_supported=["client_secret_post"])
        tokens = begin(provider.url).finished()
    written = str(tokens.dump())
    assert not [word for word in ("s3cret", "acc3ss", "r3newal") if word in repr(tokens) or word not in written]
    assert type(tokens).load(tokens.dump()) == tokens


def test_the_product_gets_one_token_for_everybody_and_another_when_that_is_refused() -> None:
    given = iter(f"a{number}" for number in range(9))
    accepted: set[str] = set()
    tool_server = Mcp()

    async def token(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        accepted.clear()
        accepted.add(next(given))
        await peer.send(writer, {"access_token": min(accepted), "token_type": "Bearer"})

    async def mcp(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        if request.headers.get("authorization", "").removeprefix("Bearer ") in accepted:
            await tool_server(request, writer)
        else:
            await peer.send(writer, {}, 401, extra=f'WWW-Authenticate: Bearer resource_metadata="{provider.url}/about"\r\n')

    with lying(**{"/token": token, "/mcp": mcp}) as (provider, _):
        oauth = {"grant": "client_credentials", "issuer": provider.url, "client_id": "c", "client_secret": {"value": "s3cret"}}
        turn = Turn(url=f"{provider.url}/mcp", oauth=oauth, sessions="conversation")

        async def body() -> list[str]:
            first = await asyncio.gather(*(turn.result() for _ in range(5)))
            accepted.clear()
            return [*first, await turn.result()]

        assert asyncio.run(body()) == ['"3"'] * 6 and accepted == {"a1"} and provider.count("/token") == 2
        form = parse_qs([request for request in provider.asked if request.path == "/token"][-1].body.decode())
        assert (form["grant_type"], form["resource"]) == (["client_credentials"], [f"{provider.url}/mcp"])
        assert form["client_secret"] == ["s3cret"]
        assert not [each for each in provider.asked if each.path == "/token" and "authorization" in each.headers], (
            "it takes none in a header"
        )


def test_a_refused_or_misplaced_address_names_its_remedy() -> None:
    def told(status: int, remedy: str) -> None:
        with peer.peer(peer.saying({}, status)) as server, pytest.raises(NotListedError, match=remedy):
            listed(url=server.url)

    for_each([(401, "headers or oauth"), (405, "older transport"), (404, "^the server answered with status 404$")])(told)()
