"""The API as served by Daphne, called by the most common client library: streamed and not, across two turns.

The library is imported where it is used: that takes half a second, and each process that runs tests collects this module.
"""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.chatui.api.deployed import key as key
from tests.chatui.api.deployed import place as place
from tests.chatui.api.deployed import server as server
from tests.support.served import Deployment, Server

if TYPE_CHECKING:
    import openai

pytestmark = pytest.mark.served

REVOKE = """
from chatui.models import ApiKey
from django.utils import timezone
ApiKey.objects.update(revoked_at=timezone.now())
"""


@pytest.fixture
def client(server: Server, key: str) -> Iterator[openai.OpenAI]:
    import openai

    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0, timeout=60) as client:
        yield client


def test_two_turns_of_responses_streamed_and_not(client: openai.OpenAI) -> None:
    import openai

    model = client.models.list().data[0].id
    first = client.responses.create(model=model, input="What is two and two?", reasoning={"summary": "auto"})
    assert first.status == "completed" and first.output_text
    with client.responses.stream(model=model, input="And three?", previous_response_id=first.id) as stream:
        kinds = [event.type for event in stream]
        second = stream.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed" and "response.output_text.delta" in kinds
    assert second.output_text and second.previous_response_id == first.id
    assert client.responses.retrieve(second.id).output_text == second.output_text
    items = client.responses.input_items.list(second.id, order="asc").data
    assert items[0].type == "message" and "two and two" in str(items[0])
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(first.id)


def test_two_turns_of_chat_completions_streamed_and_not(client: openai.OpenAI) -> None:
    model = client.models.list().data[0].id
    first = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "What is two and two?"}])
    text = first.choices[0].message.content
    assert text and first.choices[0].finish_reason == "stop" and not getattr(first.choices[0].message, "reasoning", None)
    chunks = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "One?"}, {"role": "assistant", "content": text}, {"role": "user", "content": "Two?"}],
        stream=True,
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


@pytest.mark.filterwarnings("ignore:connect\\(\\) must be used:DeprecationWarning")  # openai's, which connects as it did before
def test_two_unstored_turns_over_one_connection(client: openai.OpenAI) -> None:
    model = client.models.list().data[0].id
    with client.responses.connect() as connection:
        previous: str | None = None
        for question in ("What is two and two?", "And three?"):
            connection.response.create(model=model, input=question, store=False, previous_response_id=previous)
            kinds = []
            for event in connection:
                kinds.append(event.type)
                if event.type == "response.completed":
                    previous = event.response.id
                    assert event.response.output_text
                    break
                assert event.type not in ("error", "response.failed"), event
            assert kinds[0] == "response.created" and "response.output_text.delta" in kinds


def test_errors_are_the_client_librarys_exceptions(client: openai.OpenAI, server: Server) -> None:
    import openai

    with pytest.raises(openai.NotFoundError) as missing:
        client.responses.create(model="no-such-model", input="?")
    assert missing.value.code == "model_not_found" and missing.value.param == "model"
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="", input="?", metadata={"a": 1})  # type: ignore[dict-item]
    assert str(refused.value.param).startswith("metadata")
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong", max_retries=0) as stranger, pytest.raises(openai.AuthenticationError):
        stranger.models.list()


def test_disconnecting_in_mid_stream_stops_the_answer(server: Server, client: openai.OpenAI, key: str) -> None:
    body = b'{"model": "", "input": "Write a long text with a table.", "stream": true}'
    head = f"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        read = b""
        while b"response.in_progress" not in read:
            read += connection.recv(4096)
    found = re.search(rb"resp_[0-9a-f]{32}", read)
    assert found, read
    deadline = time.monotonic() + 30
    while (status := client.responses.retrieve(found[0].decode()).status) == "in_progress":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert status == "cancelled"


def test_a_body_may_come_in_chunks_and_hold_pictures_but_not_be_compressed(server: Server, key: str) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 3_000_000}
    body = json.dumps(
        {"model": None, "store": False, "input": [{"role": "user", "content": [picture, {"type": "input_text", "text": "Hi"}]}]}
    )
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    pieces = (body[start : start + 100_000].encode() for start in range(0, len(body), 100_000))
    assert httpx.post(f"{server.url}/v1/responses", content=pieces, headers=headers, timeout=60).status_code == 200
    packed = httpx.post(
        f"{server.url}/v1/responses", content=gzip.compress(b"{}"), headers=headers | {"Content-Encoding": "gzip"}, timeout=60
    )
    assert (packed.status_code, packed.json()["error"]["code"]) == (415, "unsupported_media_type")
    headers = {"x-api-key": key}
    for path in ("/v1/models/", "//v1/models", "///v1/models//"):
        assert httpx.get(f"{server.url}{path}", headers=headers, timeout=60).json()["object"] == "list", path
    assert httpx.head(f"{server.url}/v1/models", headers=headers, timeout=60).content == b""


@pytest.mark.parametrize(("length", "status"), [("Content-Length: 300000000", b"413")])
def test_an_oversized_body_is_refused_before_it_is_read(length: str, status: bytes, server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(f"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode())
        read = b""
        while chunk := connection.recv(4096):
            read += chunk
        assert read.startswith(b"HTTP/1.1 " + status) and b'"invalid_request"' in read


# Paths with escaped slashes, dots and worse: always an error object, and never a different address than the one written.


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


def test_many_idle_connections_stay_open_and_end_with_their_key(server: Server, key: str, place: Path) -> None:
    with ExitStack() as stack:
        headers = {"Authorization": f"Bearer {key}"}
        idle = [
            stack.enter_context(connect(f"ws://127.0.0.1:{server.port}/v1/responses", additional_headers=headers, compression=None))
            for _ in range(100)
        ]
        idle[-1].send('{"type": "response.create", "model": null, "input": "Hello", "store": false}')
        assert "response.created" in str(idle[-1].recv(timeout=30))
        Deployment(place).manage("shell", "--no-imports", "-c", REVOKE)
        for each in idle:
            while "invalid_api_key" not in (read := str(each.recv(timeout=60))):
                assert "response." in read
        with pytest.raises(InvalidStatus):
            connect(f"ws://127.0.0.1:{server.port}/v1/responses", additional_headers=headers)
