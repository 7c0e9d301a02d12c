"""Stored model requests: exact, compressed and bounded, and without the key of the model server."""

import asyncio
import json
import os
import zlib

import pytest
import pytest_django

from chatui.backends import registry
from chatui.backends.base import Backend, BackendError, Endpoint, SampleRequest, Taker
from chatui.backends.demo import DemoBackend
from chatui.model_servers import connected
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import requests
from chatui.turns import running
from renderer.frames import Frame, Header, Role
from renderer.harmony.vocabulary import Vocabulary
from tests.support import stub
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.sampling import PATIENT
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

KEY = "sk-CANARY-OF-THE-KEY"
QUESTION = "Was heißt \u201equoted\u201c \U0001f600?"


@pytest.mark.parametrize("words", [0, 20_000])
def test_a_request_of_any_length_is_restored(words: int) -> None:
    body = json.dumps({"input": " ".join(str(number**2) for number in range(words))})
    packed = requests.pack("/v1/responses", body.encode())
    assert requests.unpack(packed) == requests.StoredRequest("/v1/responses", body, len(body))


def test_a_request_is_restored_as_sent() -> None:
    body = json.dumps({"input": QUESTION}, ensure_ascii=False)
    stored = requests.unpack(requests.pack("/v1/responses", body.encode()))
    assert stored == requests.StoredRequest("/v1/responses", body, len(body.encode()))
    assert QUESTION not in repr(stored)


def test_a_request_too_long_when_compressed_is_stored_without_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_STORED", 100_000)  # compressing a request of the real limit takes seconds
    body = os.urandom(requests.MAX_STORED).hex().encode() * 2
    packed = requests.pack("/v1/responses", body)
    assert len(packed) < 1000
    assert requests.unpack(packed) == requests.StoredRequest("/v1/responses", None, len(body))


@pytest.mark.parametrize("packed", [b"", b"x", zlib.compress(b"x"), zlib.compress(b"[]"), zlib.compress(b'{"path": "/"}')])
def test_data_that_is_no_packed_request_gives_none(packed: bytes) -> None:
    assert requests.unpack(packed) is None


async def _sample(backend: Backend, request: SampleRequest) -> None:
    try:
        await backend.sample(request, Taker(lambda event: None))
    except BackendError:
        pass
    finally:
        await backend.aclose()


MODELS = {"object": "list", "data": [{"id": "gpt-oss", "max_model_len": 4096}]}


@pytest.mark.parametrize(
    ("kind", "path"), [("chat", "/v1/chat/completions"), ("responses", "/v1/responses"), ("harmony-vllm", "/v1/completions")]
)
async def test_each_back_end_reports_the_exact_body_sent_without_the_key(kind: str, path: str, vocabulary: Vocabulary) -> None:
    received: list[tuple[str, bytes]] = []
    taken: list[bool] = []
    request = SampleRequest((Frame(Header(Role.USER), QUESTION),), on_sent=lambda *sent: received.append(sent), on_taken=taken.append)
    async with stub.running(stub.plays(b"data: [DONE]\n\n"), models=MODELS) as server:
        backend = registry.build(Endpoint(server.url, key=KEY, limits=PATIENT), kind=kind, vocabulary=lambda: vocabulary)
        await _sample(backend, request)
        assert json.loads(received[0][1]) == server.posted, "the premise: the server was asked"
        assert any(KEY in value for request in server.requests for value in request.headers.values()), "the premise: with the key"
    assert [sent[0] for sent in received] == [path]
    assert taken == [True, False], "and when the server has taken it, and has ended its answer"
    assert KEY.encode() not in received[0][1] and KEY not in requests.pack(*received[0]).decode("latin-1")


async def test_a_request_to_an_unreachable_server_is_stored() -> None:
    taken: list[bool] = []
    received: list[tuple[str, bytes]] = []
    request = SampleRequest(
        (Frame(Header(Role.USER), QUESTION),), model="m", on_sent=lambda *sent: received.append(sent), on_taken=taken.append
    )
    await _sample(registry.build(Endpoint("http://127.0.0.1:9", key=KEY, model="m", limits=PATIENT)), request)
    assert len(received) == 1 and QUESTION in json.loads(received[0][1])["messages"][0]["content"]
    assert taken == []


@pytest.mark.django_db(transaction=True)
async def test_a_turn_stores_its_request_and_the_owner_is_sent_nothing_of_it(
    ada: User, monkeypatch: pytest.MonkeyPatch, settings: pytest_django.Settings
) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"instructions": "INSTRUCTIONS-CANARY"})
    demo = DemoBackend(0)
    monkeypatch.setattr(connected, "backend", lambda *_: demo)
    async with BrowserSocket(ada) as socket:
        await socket.send_message("Hello")
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.send("subscribe", conversation=accepted["conversation"])
        await socket.until(*ENDS, "chatui:idle")
        await running.settle()
        await asyncio.sleep(0)
        assert "INSTRUCTIONS-CANARY" not in "".join(socket.raw)
    turn = await Turn.objects.aget()
    stored = requests.unpack(bytes(turn.request or b""))
    assert stored is not None and stored.body is not None
    assert [message["content"] for message in json.loads(stored.body)["messages"]] == ["INSTRUCTIONS-CANARY", "Hello"]


def test_only_keys_of_server_tools_are_removed() -> None:
    schema = {"type": "object", "properties": {"token": {"type": "string", "title": "A token"}}}
    own = {"type": "function", "name": "look", "parameters": schema}
    client_tool = {
        "type": "mcp",
        "server_url": "https://mcp.test/",
        "authorization": "s3cret-1",
        "headers": {"X-Any": ["s3cret-2"]},
        "n": 1,
    }
    nested = {"type": "code_interpreter", "container": {"type": "auto", "API_Key": "s3cret-3", "memory_limit": "1g"}}
    messages = [{"role": "user", "content": 'my "authorization": "plain"'}]
    body = json.dumps({"input": messages, "tools": [client_tool, nested, own]}).encode()
    stored = requests.unpack(requests.pack("/v1/responses", body))
    assert stored is not None and stored.body is not None and "s3cret" not in stored.body
    found = json.loads(stored.body)
    assert found["input"] == messages and found["tools"][2] == own
    assert found["tools"][0]["server_url"] == "https://mcp.test/" and found["tools"][1]["container"]["memory_limit"] == "1g"
