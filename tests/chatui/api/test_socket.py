"""The WebSocket transport of the API: sequential responses, continued without being stored, with a key that is checked each time."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from asgiref.testing import ApplicationCommunicator

from chatui.api import socket as open_sockets
from chatui.asgi import application
from chatui.models.conversation import Conversation
from chatui.models.programs import ApiKey
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from tests.chatui.api.asking import Program, json_of, key_of, new_key, text_of
from tests.support.scripted import FINAL, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "the hidden marmalade"
UNSTORED = {"type": "response.create", "store": False}


@pytest.fixture
def key(ada: User, backend: ScriptedBackend) -> str:
    backend.script = answer("It is four.", SECRET)
    return key_of(ada)


class Socket:
    """An API client's connection."""

    def __init__(self, key: str, path: str = "/v1/responses", **headers: str) -> None:
        sent = {"authorization": f"Bearer {key}"} | headers if key else headers
        pairs = [(name.encode(), value.encode()) for name, value in sent.items()]
        scope = {"type": "websocket", "path": path, "headers": pairs, "client": ["192.0.2.9", 1], "subprotocols": []}
        self._talk = ApplicationCommunicator(application, scope)

    async def opened(self) -> bool:
        await self._talk.send_input({"type": "websocket.connect"})
        reply = await self._talk.receive_output(10)
        return bool(reply["type"] == "websocket.accept")

    async def send(self, body: object) -> None:
        text = body if isinstance(body, str) else json.dumps({"model": "", **body} if isinstance(body, dict) else body)
        await self._talk.send_input({"type": "websocket.receive", "text": text})

    async def next(self) -> dict[str, Any]:
        reply = await self._talk.receive_output(10)
        found: dict[str, Any] = json.loads(reply["text"]) if reply["type"] == "websocket.send" else reply
        return found

    async def response(self) -> list[dict[str, Any]]:
        """The events up to the last of a response, or up to an earlier error."""
        events = [await self.next()]
        while events[-1]["type"] not in ("response.completed", "response.failed", "response.incomplete") and "status" not in events[-1]:
            events.append(await self.next())
        return events

    async def ask(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        await self.send(body)
        return await self.response()

    async def leave(self) -> None:
        await self._talk.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.ended()

    async def ended(self) -> None:
        """Wait until the server is done with the connection."""
        await self._talk.wait(10)


@asynccontextmanager
async def connected(key: str) -> AsyncIterator[Socket]:
    socket = Socket(key)
    assert await socket.opened()
    try:
        yield socket
    finally:
        await socket.leave()


async def test_responses_come_one_after_the_other_and_without_reasoning(key: str) -> None:
    async with connected(key) as socket:
        for _ in range(2):
            await socket.send({"type": "response.create", "input": "What is two and two?"})
        for _ in range(2):
            events = await socket.response()
            assert [event["sequence_number"] for event in events] == list(range(len(events)))
            assert text_of(events[-1]["response"]) == "It is four. " and "marmalade" not in json.dumps(events)
    assert await Turn.objects.acount() == 2


async def test_a_connection_continues_unstored_responses(key: str, backend: ScriptedBackend) -> None:
    async with connected(key) as socket:
        first = (await socket.ask(UNSTORED | {"input": "First?"}))[-1]["response"]
        second = (await socket.ask(UNSTORED | {"input": "Second?", "previous_response_id": first["id"]}))[-1]["response"]
        sent = [frame.body for frame in backend.requests[-1].frames]
        assert sent == ["First?", "It is four. ", "Second?"]
        await socket.ask(UNSTORED | {"input": "Third?", "previous_response_id": second["id"]})
        assert [frame.body for frame in backend.requests[-1].frames][-3:] == ["Second?", "It is four. ", "Third?"]
        lost = await socket.ask(UNSTORED | {"input": "?", "previous_response_id": first["id"]})
        assert (lost[-1]["status"], lost[-1]["error"]["code"]) == (404, "previous_response_not_found")
    async with connected(key) as socket:
        lost = await socket.ask(UNSTORED | {"input": "?", "previous_response_id": second["id"]})
        assert lost[-1]["error"]["code"] == "previous_response_not_found"
        assert (await socket.ask(UNSTORED | {"input": "?"}))[-1]["type"] == "response.completed"
    for _ in range(200):
        if not await Conversation.objects.aexists():
            break
        await asyncio.sleep(0.02)
    assert not await Conversation.objects.aexists()


async def test_a_failed_continuation_forgets_its_previous_response(key: str) -> None:
    async with connected(key) as socket:
        first = (await socket.ask(UNSTORED | {"input": "First?"}))[-1]["response"]
        going_on = UNSTORED | {"previous_response_id": first["id"]}
        assert (await socket.ask(going_on | {"input": [{"type": "nonsense"}]}))[-1]["status"] == 400
        assert (await socket.ask(going_on | {"input": "?"}))[-1]["error"]["code"] == "previous_response_not_found"


async def test_a_connection_continues_stored_responses_like_http(key: str) -> None:
    async with connected(key) as socket:
        first = (await socket.ask({"type": "response.create", "input": "First?"}))[-1]["response"]
        again = json_of(await Program(key).get(f"/v1/responses/{first['id']}"))
        assert text_of(again) == text_of(first)
        second = await socket.ask({"type": "response.create", "input": "?", "previous_response_id": first["id"]})
        assert second[-1]["response"]["previous_response_id"] == first["id"]


async def test_a_connection_takes_what_codex_and_openai_agents_send(key: str, backend: ScriptedBackend) -> None:
    sent = {
        "type": "response.create",
        "stream": True,
        "background": False,
        "stream_options": {"include_obfuscation": False},
        "store": False,
    }
    async with connected(key) as socket:
        order = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}
        warm = (await socket.ask(sent | {"input": [order], "generate": False}))[-1]
        assert (warm["type"], warm["response"]["output"], backend.requests) == ("response.completed", [], [])
        events = await socket.ask(sent | {"input": "?", "previous_response_id": warm["response"]["id"], "prompt_cache_key": "k"})
        assert events[-1]["type"] == "response.completed" and events[0]["chatui:ignored"] == ["prompt_cache_key"]
        (request,) = backend.requests
        assert [(frame.header.role, frame.body) for frame in request.frames] == [("developer", "Be brief."), ("user", "?")]
        wrong = await socket.ask(sent | {"generate": False, "input": [{"role": "wizard", "content": "?"}]})
        assert wrong[-1]["error"]["param"] == "input[0].role"
        for name in ("conversation", "previous_response_id"):  # neither is dropped silently
            wrong = await socket.ask(sent | {"store": True, "generate": False, "input": "?", name: f"{name[:4]}_{uuid4().hex}"})
            assert wrong[-1]["error"]["param"] == name


async def test_a_message_that_is_too_long_ends_the_connection_with_the_code_for_it(key: str) -> None:
    async with connected(key) as socket:
        await socket.send({"type": "response.create", "input": "x" * open_sockets.MAX_REQUEST_CHARS})
        assert (await socket.next())["error"]["code"] == "body_too_large"
        assert (await socket.next())["code"] == 1009


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("{", None),
        ("[]", None),
        ({"type": "response.cancel"}, "type"),
        ({"type": "response.create", "input": "?", "stream": False}, "stream"),
        ({"type": "response.create", "input": "?", "background": True}, "background"),
        ({"type": "response.create", "input": "?", "model": "none"}, "model"),
        ({"type": "response.create"}, "input"),
    ],
)
async def test_an_invalid_request_is_an_error_and_the_connection_stays(message: object, param: str | None, key: str) -> None:
    async with connected(key) as socket:
        await socket.send(message)
        error = await socket.next()
        assert error["type"] == "error" and error["status"] in (400, 404) and error["error"]["param"] == param
        assert set(error["error"]) == {"message", "type", "param", "code"}
        assert (await socket.ask({"type": "response.create", "input": "?"}))[-1]["type"] == "response.completed"


async def test_without_a_valid_key_there_is_no_connection(key: str, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    chat_only = await new_key(ada, for_responses=False)
    for wrong in (Socket(""), Socket("wrong"), Socket(chat_only), Socket("", cookie="sessionid=x", origin="http://testserver")):
        assert not await wrong.opened()
    with monkeypatch.context() as full:
        full.setattr(open_sockets, "MAX_OF_PERSON", 0)
        assert not await Socket(key).opened()
    await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00Z")
    assert not await Socket(key).opened()


async def has_room_for_one(monkeypatch: pytest.MonkeyPatch, person: User) -> bool:
    """Whether none of the person's connections is counted any more."""
    monkeypatch.setattr(open_sockets, "MAX_OF_PERSON", 1)
    socket = Socket(await new_key(person))
    try:
        return await socket.opened()
    finally:
        await socket.leave()


async def test_revoking_a_key_closes_its_connections(key: str, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sockets, "CHECK_SECONDS", 0.05)
    sockets = [Socket(key) for _ in range(3)]
    assert all([await socket.opened() for socket in sockets])
    await asyncio.sleep(0.2)
    await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00Z")
    for socket in sockets:
        assert (await socket.next())["error"]["code"] == "invalid_api_key"
        assert await socket.next() == {"type": "websocket.close", "code": 1008}
        await socket.ended()
    assert await has_room_for_one(monkeypatch, ada)


async def test_a_revoked_key_gets_no_further_response(key: str) -> None:
    async with connected(key) as socket:
        await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00Z")
        refused = await socket.ask({"type": "response.create", "input": "?"})
        assert refused[-1]["status"] == 401 and not await Turn.objects.aexists()


async def test_disconnecting_stops_the_model_and_flooding_closes_the_connection(
    key: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = [*frame(FINAL, "Some words")[:-1], asyncio.Event()]
    async with connected(key) as socket:
        await socket.send({"type": "response.create", "input": "?"})
        await asyncio.wait_for(backend.waiting.wait(), 10)
    await asyncio.wait_for(running.settle(), 10)
    assert backend.closed == 1
    backend.waiting.clear()
    socket = Socket(key)
    assert await socket.opened()
    for _ in range(20):
        await socket.send({"type": "response.create", "input": "?"})
    while (event := await socket.next())["type"] != "websocket.close":
        last = event
    assert (last["status"], event["code"]) == (429, 1008)
    await socket.ended()
    await asyncio.wait_for(running.settle(), 10)
    assert await has_room_for_one(monkeypatch, ada)


async def test_the_queue_of_all_connections_of_a_person_is_bounded(
    key: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_sockets, "MAX_WAITING_CHARS", 500)
    backend.script = [*frame(FINAL, "Some words")[:-1], asyncio.Event()]
    async with connected(key) as busy:
        await busy.send({"type": "response.create", "input": "?"})
        await asyncio.wait_for(backend.waiting.wait(), 10)
        await busy.send({"type": "response.create", "input": "x" * 400})
        await asyncio.sleep(0.1)
        async with connected(key) as other:
            await other.send({"type": "response.create", "input": "x" * 400})
            assert (await other.next())["status"] == 429
    await asyncio.wait_for(running.settle(), 10)
    assert await has_room_for_one(monkeypatch, ada)


async def test_a_connection_is_closed_after_an_hour(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.api.socket.LIFE_SECONDS", 0.1)
    socket = Socket(key)
    assert await socket.opened()
    assert (await socket.next())["error"]["code"] == "websocket_connection_limit_reached"
    assert (await socket.next())["type"] == "websocket.close"
    await socket.ended()


async def test_a_compacted_conversation_is_readable_only_by_this_server(key: str, backend: ScriptedBackend, bela: User) -> None:
    program, other = Program(key), Program(await new_key(bela))
    stored = await program.ask({"input": "What is two and two?"})
    backend.script = answer("They added marmalade.", SECRET)
    body = {"model": "demo", "previous_response_id": stored["id"], "input": "And three?"}
    compacted = json_of(await program.post("/v1/responses/compact", body))
    assert compacted["object"] == "response.compaction" and [item["type"] for item in compacted["output"]] == ["compaction"]
    assert "marmalade" not in json.dumps(compacted)
    sent = [frame.body for frame in backend.requests[-1].frames]
    assert sent[:3] == ["What is two and two?", "It is four. ", "And three?"] and "Write down" in sent[3]
    backend.script = answer("It is four.", SECRET)
    going_on = {"input": [*compacted["output"], {"role": "user", "content": "Go on."}]}
    await program.ask(going_on)
    roles = [(frame.header.role, frame.body) for frame in backend.requests[-1].frames]
    assert roles[0][0] == "user" and "They added marmalade." in roles[0][1] and roles[1] == ("user", "Go on.")
    async with connected(key) as socket:
        assert (await socket.ask(UNSTORED | going_on))[-1]["type"] == "response.completed"
    refused = await other.post("/v1/responses", going_on)
    assert refused.status_code == 400 and json_of(refused)["error"]["code"] == "invalid_compaction"
    assert (await program.post("/v1/responses/compact", {"input": "?"})).status_code == 400
    assert (await other.post("/v1/responses/compact", body)).status_code == 404
