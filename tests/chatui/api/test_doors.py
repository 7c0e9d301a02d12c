"""API access and errors: a key is required, bodies are bounded, and every error is the specification's error object."""

import json

import pytest
import pytest_django
from django.test import AsyncClient

from chatui.backends.base import BackendError
from chatui.codes import ProductCode
from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.api.asking import Program, json_of, key_of
from tests.support.environment import change
from tests.support.scripted import FINAL, ScriptedBackend, frame

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESSES = [
    ("get", "/v1/models"),
    ("get", "/v1/models/demo"),
    ("post", "/v1/responses"),
    ("post", "/v1/chat/completions"),
    ("post", "/v1/messages"),
    ("post", "/v1/messages/count_tokens"),
    ("get", "/v1/responses/resp_x"),
    ("delete", "/v1/responses/resp_x"),
    ("post", "/v1/responses/resp_x/cancel"),
    ("get", "/v1/responses/resp_x/input_items"),
]


@pytest.mark.parametrize(("method", "path"), ADDRESSES)
async def test_every_address_gives_the_same_error_without_a_valid_key(method: str, path: str, key: str, ada: User) -> None:
    client = AsyncClient(raise_request_exception=False)
    await client.aforce_login(ada)
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {key}"}, {"x-other-key": key}):
        response = await getattr(client, method)(path, headers=headers)
        error = json_of(response)["error"]
        kind = "authentication_error" if "messages" in path else "invalid_request"
        assert (response.status_code, error["type"], error.get("param")) == (401, kind, None)
        assert response.headers["WWW-Authenticate"] == "Bearer" and key not in response.content.decode()
    assert (await getattr(client, method)(path, headers={"authorization": f"Bearer {key}"})).status_code != 401


async def test_a_key_is_limited_to_its_scope(ada: User, backend: ScriptedBackend) -> None:
    from channels.db import database_sync_to_async

    make = database_sync_to_async(key_of)
    chat, responses, elsewhere = [
        Program(await make(ada, **options)) for options in ({"for_responses": False}, {"for_chat": False}, {"models": ("another",)})
    ]
    body = {"input": "?", "messages": [{"role": "user", "content": "?"}]}
    assert (await chat.post("/v1/responses", body)).status_code == 403 and (await chat.get("/v1/responses/resp_x")).status_code == 403
    assert (await responses.post("/v1/chat/completions", body)).status_code == 403
    assert (await elsewhere.post("/v1/responses", body)).status_code == 404 and json_of(await elsewhere.get("/v1/models"))["data"] == []
    assert not backend.requests
    assert (await chat.post("/v1/chat/completions", body)).status_code == (await responses.post("/v1/responses", body)).status_code == 200


async def test_bodies_are_bounded_and_must_be_json(key: str) -> None:
    program = Program(key)
    wrong = {
        "no json": ("{", "application/json", 400),
        "a list": ("[]", "application/json", 400),
        "deep": ("[" * 100_000, "application/json", 400),
        "another type": ('{"input":"?"}', "text/plain", 415),
        "too long": (json.dumps({"input": "x" * 17_000_000}), "application/json", 413),
    }
    for name, (body, kind, status) in wrong.items():
        response = await program.post("/v1/responses", body, content_type=kind)
        assert (response.status_code, set(json_of(response)["error"])) == (status, {"message", "type", "param", "code"}), name
    assert not await Conversation.objects.aexists()


async def test_a_key_is_rate_limited(ada: User) -> None:
    from channels.db import database_sync_to_async

    program = Program(await database_sync_to_async(key_of)(ada, per_minute=1))
    assert (await program.get("/v1/models")).status_code == 200
    response = await program.get("/v1/models")
    assert response.status_code == 429 and json_of(response)["error"]["type"] == "too_many_requests" and response.headers["Retry-After"]


async def test_many_wrong_keys_have_to_wait(key: str) -> None:
    responses = [await Program("wrong").get("/v1/models") for _ in range(22)]
    assert [response.status_code for response in responses] == [401] * 21 + [429]
    assert "wrong keys" in json_of(responses[-1])["error"]["message"] and 0 < int(responses[-1].headers["Retry-After"]) <= 5
    assert (await Program(key).get("/v1/models")).status_code == 200


async def test_a_model_server_failure_is_an_error_before_and_in_the_stream(
    key: str, backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    program = Program(key)
    secret = "upstream said marmalade"
    backend.script = [BackendError(ProductCode.BACKEND, secret)]
    response = await program.post("/v1/responses", {"input": "?"})
    assert "turn ended" in caplog.text, "the premise: the product logs it"
    assert "django.request" not in {line.name for line in caplog.records}, "and Django does not, whose error it is not"
    assert response.status_code == 500 and json_of(response)["error"]["type"] == "model_error"
    assert response.headers["x-should-retry"] == "false"
    for path, last in (("/v1/responses", "response.failed"), ("/v1/chat/completions", None)):
        backend.script = [*frame(FINAL, "Some words")[:-1], BackendError(ProductCode.BACKEND, secret)]
        events = await program.stream({"input": "?", "messages": [{"role": "user", "content": "?"}]}, path)
        errors = [event["error"] for event in events if "error" in event]
        assert errors[0]["type"] == "model_error" and events[-1].get("type") == last and "marmalade" not in json.dumps(events)


async def test_the_operator_can_switch_it_off(key: str, settings: pytest_django.Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"api": False})
    assert (await Program(key).get("/v1/models")).status_code == 404


async def test_a_key_may_come_in_the_headers_of_other_services(key: str, ada: User) -> None:
    client = AsyncClient()
    for headers in ({"x-api-key": key}, {"api-key": key}, {"authorization": f"Bearer {key}", "x-api-key": "wrong"}):
        assert (await client.get("/v1/models", headers=headers)).status_code == 200
    for headers in ({"x-api-key": "wrong"}, {"api-key": ""}, {"authorization": "Bearer wrong", "x-api-key": key}):
        assert (await client.get("/v1/models", headers=headers)).status_code == 401


async def test_pages_of_listed_origins_may_ask_and_read_and_no_others(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client, asked = (
        AsyncClient(),
        {"access-control-request-method": "POST", "access-control-request-headers": "authorization, x-stainless-os"},
    )
    here, there = {"origin": "https://app.example.org"}, {"origin": "https://evil.example.org"}
    closed = await client.options("/v1/responses", headers=here | asked)
    assert closed.status_code == 204 and not any(name.lower().startswith("access-control") for name in closed.headers)
    change(monkeypatch, {"api_origins": ["https://app.example.org"]})
    opened = await client.options("/v1/responses", headers=here | asked)
    assert opened.headers["Access-Control-Allow-Origin"] == here["origin"] and opened.headers["Vary"] == "Origin"
    assert opened.headers["Access-Control-Allow-Headers"] == asked["access-control-request-headers"]
    for response, status in (
        (await client.get("/v1/models", headers=here | {"authorization": f"Bearer {key}"}), 200),
        (await client.get("/v1/models", headers=here), 401),
    ):
        assert (response.status_code, response.headers["Access-Control-Allow-Origin"]) == (status, here["origin"])
        assert "Access-Control-Allow-Credentials" not in response.headers
    other = await client.options("/v1/responses", headers=there | asked)
    assert "Access-Control-Allow-Origin" not in other.headers and other.headers["Vary"] == "Origin"


async def test_a_method_that_is_not_known_is_told_those_that_are_and_a_head_has_no_body(key: str) -> None:
    program, client = Program(key), AsyncClient()
    refused = await client.put("/v1/models", headers={"authorization": f"Bearer {key}"})
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    whole_one, head = await program.get("/v1/models"), await client.head("/v1/models", headers={"authorization": f"Bearer {key}"})
    assert head.status_code == 200 and head.content == b"" and head.headers["Content-Length"] == str(len(whole_one.content))  # type: ignore[attr-defined]
    (model,) = json_of(whole_one)["data"]
    assert model["created"] > 1_700_000_000
