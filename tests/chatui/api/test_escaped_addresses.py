"""Paths with escaped slashes, dots and worse: always an error object, and never a different address than the one written."""

import http.client
import json

import httpx
import pytest

from chatui.live.server import refusal_of
from tests.chatui.api.deployed import key as key
from tests.chatui.api.deployed import place as place
from tests.chatui.api.deployed import server as server
from tests.support.served import Server

pytestmark = pytest.mark.served

TAILS = [
    "{id}%2Fcancel",
    "{id}%2fcancel",
    "{id}%2Finput_items",
    "{id}%252Fcancel",
    "{id}%5Ccancel",
    "{id}%3Fstream=true",
    "{id}%23",
    "{id}%00",
    "{id}%0d%0aX-Header:%20yes",
    "{id}%ff",
    "{id}/../{id}/cancel",
    "{id}/%2e%2e/{id}/cancel",
    "%2e%2e/chat/completions",
    "%2e%2e%2fmodels",
    "../models",
    "..%2f..%2faudit%2f",
    "%2F%2F{id}",
    "/{id}/cancel",
    "{id};x=1",
    "{id}/",
    "{id}/cancel/",
    "{id}%",
    "{id}%zz",
    "." * 4000,
]
ELSEWHERE = [
    "/v1%2Fresponses",
    "/v1/responses%2F{id}%2Fcancel",
    "/%761/responses/{id}/cancel",
    "/v1/no-such-thing",
    "/v1/responses/{id}/a/b",
]


def raw_request(server: Server, key: str, method: str, path: str) -> tuple[int, str, bytes]:
    """The response to exactly this path, without normalization by a library."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.putrequest(method, "/", skip_host=True)
        # Replaces the request line that was written.
        connection._buffer[0] = f"{method} {path} HTTP/1.1".encode("latin-1")  # type: ignore[attr-defined]
        for name, value in {"Host": f"127.0.0.1:{server.port}", "Authorization": f"Bearer {key}", "Content-Length": "0"}.items():
            connection.putheader(name, value)
        connection.endheaders()
        reply = connection.getresponse()
        return reply.status, reply.headers.get("Content-Type", ""), reply.read()
    finally:
        connection.close()


def test_an_escaped_id_reaches_no_other_address(server: Server, key: str) -> None:
    with httpx.Client(base_url=f"{server.url}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        # The demo keeps writing while the addresses are tried.
        response = client.post("/responses", json={"model": "demo", "input": "Write a long text.", "background": True}).json()["id"]
        for path in [f"/v1/responses/{tail}" for tail in TAILS] + ELSEWHERE:
            for method in ("POST", "GET", "DELETE"):
                status, kind, body = raw_request(server, key, method, path.format(id=response))
                where = f"{method} {path:.80}: {status} {body[:200]!r}"
                assert 400 <= status < 500 and kind.startswith("application/json"), where
                assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}, where
                assert b"X-Header" not in body and response.encode() not in body, where
        assert client.get(f"/responses/{response}").json()["status"] in ("in_progress", "completed"), "nothing has stopped or deleted it"
        assert client.get("/models/demo").json()["id"] == client.get("/models/%64emo").json()["id"] == "demo", "ids of models are names"
        assert client.post(f"/responses/{response}/cancel").status_code == 200, "the premise: as it is written, it is there"


@pytest.mark.parametrize("path", [b"/v1/responses/x%2Fcancel", b"/%76%31/responses", b"/v1%2fresponses", b"/v1/%6dodels/x"])
def test_escapes_are_refused_before_the_body_is_read(path: bytes) -> None:
    assert refusal_of(path, 0).startswith(b"HTTP/1.1 404 ") and b'"type": "not_found"' in refusal_of(path, 0)
    assert refusal_of(b"/v1/models/a%2Fb", 0) == refusal_of(b"/search/%2F", 0) == b""
