"""An OpenID provider on loopback that signs in whomever a test names, and gives wrong responses on request."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

_KEY = RSAKey.generate_key(2048, {"kid": "one"})
CLIENT, SECRET = "chatui", "a secret / with signs"


@dataclass
class ScriptedProvider:
    """``person`` has the claims of every visitor; ``token`` overrides claims of the ID token alone; None leaves one out."""

    port: int
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "ada-1", "preferred_username": "ada.l"})
    token: dict[str, Any] = field(default_factory=dict)
    user_info: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=dict)
    signing: str = "RS256"
    fails: str = ""
    other_keys: list[Any] = field(default_factory=list)
    refuses_client: bool = False
    requested_paths: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: _KEY)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def table(self, **more: Any) -> dict[str, Any]:
        """The operator's words about it."""
        fields = {"key": "company", "name": "Example Ltd", "issuer": self.issuer, "client_id": CLIENT, "client_secret": SECRET}
        return fields | {"who_may_enter": "everybody"} | more

    def sign_in(self, address: str) -> str:
        """What a browser does that is sent to ``address``: the path and query at which it comes back."""
        parts = urlsplit(address)
        assert f"{parts.scheme}://{parts.netloc}" == self.issuer and parts.path == "/authorize"
        parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert parameters["response_type"] == "code" and parameters["client_id"] == CLIENT and parameters["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(12)
        self.codes[code] = parameters
        answer = {"code": code, "state": parameters["state"], "iss": self.issuer} | self.answer
        back = urlsplit(parameters["redirect_uri"])
        return f"{back.path}?{urlencode({name: value for name, value in answer.items() if value is not None})}"

    def respond(self, path: str, fields: dict[str, str], authorization: str) -> tuple[int, Any]:
        """Status and body of the answer to a request."""
        self.requested_paths.append(path)
        match path:
            case "/.well-known/openid-configuration":
                return 200, {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                    "userinfo_endpoint": f"{self.issuer}/me",
                    "authorization_response_iss_parameter_supported": True,
                } | self.metadata
            case "/keys":
                return 200, {"keys": [*self.other_keys, *KeySet([self.key]).as_dict(private=False)["keys"]]}
            case "/token":
                return self._tokens(fields, authorization)
            case "/me":
                assert authorization == "Bearer let-me-see"
                return 200, self.person | self.user_info
        return 404, {}

    def _tokens(self, fields: dict[str, str], authorization: str) -> tuple[int, Any]:
        if self.refuses_client:
            return 401, {"error": "invalid_client"}
        expected = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '%20').replace('/', '%2F')}".encode()).decode()
        assert authorization == f"Basic {expected}"
        sign_in = self.codes.pop(fields["code"], None)
        if sign_in is None or sign_in["redirect_uri"] != fields["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        digest = base64.urlsafe_b64encode(hashlib.sha256(fields["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        assert digest == sign_in["code_challenge"]
        now = int(time.time())
        asked = {"auth_time": now} if sign_in.get("max_age") == "0" else {}
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": sign_in["nonce"]} | asked
        claims |= self.person | self.token
        return 200, {"access_token": "let-me-see", "token_type": "Bearer", "id_token": self._signed(claims)}

    def logout_token(self, **claims: Any) -> str:
        """What it sends when it has signed somebody out; None leaves a claim out."""
        payload = {"iss": self.issuer, "aud": CLIENT, "iat": int(time.time()), "jti": secrets.token_urlsafe(9), "sub": self.person["sub"]}
        return self._signed(payload | {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}} | claims)

    def _signed(self, claims: dict[str, Any]) -> str:
        payload = {name: value for name, value in claims.items() if value is not None}
        if self.signing == "none":
            parts = ({"alg": "none"}, payload)
            return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."
        if self.signing == "HS256":
            return jwt.encode({"alg": "HS256"}, payload, OctKey.import_key(SECRET), algorithms=["HS256"])
        key = RSAKey.generate_key(2048, {"kid": "one"}) if self.signing == "another key" else self.key
        return jwt.encode({"alg": "RS256", "kid": "one"}, payload, key)


@contextmanager
def running() -> Iterator[ScriptedProvider]:
    """The provider at a free port, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith("/authorize?"):
                self._answer({})
                return
            # A browser that is here already signed in.
            redirect_uri = parse_qs(urlsplit(self.path).query)["redirect_uri"][0]
            self.send_response(302)
            self.send_header("Location", urljoin(redirect_uri, provider.sign_in(f"{provider.issuer}{self.path}")))
            self.end_headers()

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer({name: values[0] for name, values in parse_qs(sent).items()})

        def _answer(self, fields: dict[str, str]) -> None:
            path = urlsplit(self.path).path
            status, reply = provider.respond(path, fields, self.headers.get("Authorization", ""))
            body = json.dumps(reply).encode()
            if provider.fails == path:
                status, body = 502, b"<html>bad gateway</html>"
            elif provider.fails == f"{path} endless":
                body = b"[" * 700_000
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = ScriptedProvider(server.server_port)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield provider
        finally:
            server.shutdown()
