"""The API as it is served by Daphne, asked by the client that most programs use: streamed and not, across two turns."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from tests.support.served import Deployment, Server

pytestmark = pytest.mark.served

MAKE_KEY = """
from chatui.accounts.api_keys import making
from chatui.audit_log.record import Visitor
from chatui.models import User
wanted = making.Wanted('A script', for_responses=True, for_chat=True, per_minute=600)
print('key=' + making.make(Visitor(User.objects.get(username='ada'), '', 'shell'), wanted).text)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    deployment = Deployment(tmp_path_factory.mktemp("data"), CHATUI_DEMO_TOKENS_PER_SECOND="400")
    try:
        started = deployment.start()
        deployment.make_people(ada=(False, []))
        yield started
    finally:
        deployment.stop()


@pytest.fixture(scope="module")
def key(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    data_dir = Path(tmp_path_factory.getbasetemp()) / "data0"
    printed = Deployment(data_dir).manage("shell", "--no-imports", "-c", MAKE_KEY)
    found = re.search(r"key=(\S+)", printed)
    assert found, printed
    return found[1]


@pytest.fixture
def client(server: Server, key: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0, timeout=60) as client:
        yield client


def test_two_turns_of_responses_streamed_and_not(client: openai.OpenAI) -> None:
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


def test_errors_are_those_of_the_client(client: openai.OpenAI, server: Server) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.responses.create(model="no-such-model", input="?")
    assert missing.value.code == "model_not_found" and missing.value.param == "model"
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="", input="?", tools=[{"type": "web_search"}])
    assert refused.value.param == "tools"
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong", max_retries=0) as stranger, pytest.raises(openai.AuthenticationError):
        stranger.models.list()


def test_a_connection_that_is_closed_in_mid_stream_stops_the_answer(server: Server, client: openai.OpenAI, key: str) -> None:
    body = b'{"input": "Write a long text with a table.", "stream": true}'
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


@pytest.mark.parametrize(("length", "status"), [("Content-Length: 300000000", b"413"), ("Transfer-Encoding: chunked", b"411")])
def test_a_body_that_is_too_long_is_refused_before_it_is_read(length: str, status: bytes, server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(f"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode())
        read = b""
        while chunk := connection.recv(4096):
            read += chunk
        assert read.startswith(b"HTTP/1.1 " + status) and b'"invalid_request"' in read
