"""An MCP server with an authorization server of the official package, run in a separate environment at a port.

Whoever opens ``/login`` is signed in as ``as``: it is the page on which a person of a test enters their password. Renewal tokens rotate,
and using an old one ends the whole sign-in. ``/expire`` makes every access token invalid, ``/end`` ends every sign-in; ``/state`` says what
happened.
"""

import sys
import time
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from mcp.server import MCPServer  # type: ignore[import-not-found]
from mcp.server.auth.middleware.auth_context import get_access_token  # type: ignore[import-not-found]
from mcp.server.auth.provider import (  # type: ignore[import-not-found]
    AccessToken,
    AuthorizationCode,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import (  # type: ignore[import-not-found]
    AuthSettings,
    ClientRegistrationOptions,
    RevocationOptions,
)
from mcp.shared.auth import OAuthToken  # type: ignore[import-not-found]
from starlette.requests import Request  # type: ignore[import-not-found]
from starlette.responses import JSONResponse, RedirectResponse, Response  # type: ignore[import-not-found]

FORM = """<!doctype html><title>Sign in</title><form action="/login"><input type="hidden" name="request" value="{request}">
<label>Name <input name="as"></label><button>Sign in there</button></form>"""
PORT = int(sys.argv[1])
URL = f"http://127.0.0.1:{PORT}"


class Provider:
    """Everything is in memory. ``grants``: the tokens of each sign-in."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.asked: dict[str, tuple[Any, Any]] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.renewals: dict[str, RefreshToken] = {}
        self.used: dict[str, str] = {}
        self.counts = {"registered": 0, "signed_in": 0, "renewed": 0, "replayed": 0, "revoked": 0}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client: Any) -> None:
        self.clients[client.client_id] = client
        self.counts["registered"] += 1

    async def authorize(self, client: Any, params: Any) -> str:
        key = token_urlsafe(16)
        self.asked[key] = client, params
        return f"{URL}/login?{urlencode({'request': key})}"

    def sign_in(self, key: str, name: str) -> str:
        client, params = self.asked.pop(key)
        code = AuthorizationCode(
            code=token_urlsafe(32),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=name,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state, iss=URL)  # type: ignore[no-any-return]

    async def load_authorization_code(self, client: Any, code: str) -> Any:
        return self.codes.get(code)

    async def exchange_authorization_code(self, client: Any, code: Any) -> Any:
        del self.codes[code.code]
        self.counts["signed_in"] += 1
        return self._tokens(client, code.subject, code.scopes, code.resource)

    def _tokens(self, client: Any, subject: str, scopes: list[str], resource: str | None) -> Any:
        access, renewal = f"access-{token_urlsafe(24)}", f"renewal-{token_urlsafe(24)}"
        about = {"client_id": client.client_id, "scopes": scopes, "subject": subject}
        self.access[access] = AccessToken(token=access, expires_at=int(time.time()) + 3600, resource=resource, **about)
        self.renewals[renewal] = RefreshToken(token=renewal, **about)
        return OAuthToken(access_token=access, refresh_token=renewal, expires_in=3600, scope=" ".join(scopes))

    async def load_refresh_token(self, client: Any, token: str) -> Any:
        if token in self.used:
            self.counts["replayed"] += 1
            self._end(self.used[token])
        return self.renewals.get(token)

    async def exchange_refresh_token(self, client: Any, token: Any, scopes: list[str]) -> Any:
        del self.renewals[token.token]
        self.used[token.token] = token.subject
        self.counts["renewed"] += 1
        return self._tokens(client, token.subject, token.scopes, URL)

    async def load_access_token(self, token: str) -> Any:
        return self.access.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.counts["revoked"] += 1
        self._end(token.subject)

    def _end(self, subject: str) -> None:
        for kept in (self.access, self.renewals):
            for name in [name for name, token in kept.items() if token.subject == subject]:
                del kept[name]


provider = Provider()
server = MCPServer(
    "accounts",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=URL,
        resource_server_url=f"{URL}/mcp",
        validate_token_resource=False,
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["notes"], default_scopes=["notes"]),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=["notes"],
    ),
)


@server.tool()  # type: ignore[untyped-decorator]
def whoami() -> str:
    """Says whose account this is."""
    token = get_access_token()
    return f"You are {token.subject}." if token else "nobody"


@server.resource("account://me", name="Account", mime_type="text/markdown")  # type: ignore[untyped-decorator]
def account() -> str:
    """Says whose account this is."""
    return f"This is the account of {whoami()}"


@server.prompt(title="About me")  # type: ignore[untyped-decorator]
def about() -> str:
    """A text for whoever asks."""
    return f"Write about me. {whoami()}"


@server.tool()  # type: ignore[untyped-decorator]
def echo_token() -> str:
    """Says what it was sent."""
    token = get_access_token()
    return token.token if token else "none"


@server.custom_route("/login", methods=["GET"])  # type: ignore[untyped-decorator]
async def login(request: Request) -> Response:
    if "as" not in request.query_params:
        return Response(FORM.format(request=request.query_params["request"]), media_type="text/html")
    return RedirectResponse(provider.sign_in(request.query_params["request"], request.query_params["as"]), 302)


@server.custom_route("/expire", methods=["POST"])  # type: ignore[untyped-decorator]
async def expire(request: Request) -> Response:
    provider.access.clear()
    return JSONResponse({})


@server.custom_route("/end", methods=["POST"])  # type: ignore[untyped-decorator]
async def end(request: Request) -> Response:
    provider.access.clear()
    provider.renewals.clear()
    return JSONResponse({})


@server.custom_route("/state", methods=["GET"])  # type: ignore[untyped-decorator]
async def state(request: Request) -> Response:
    secret = [*provider.access, *provider.renewals, *provider.used]
    clients = [client.client_secret for client in provider.clients.values() if client.client_secret]
    return JSONResponse({**provider.counts, "secret": secret + clients})


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=PORT)
