"""Addresses that clients know and that are not served: 404 with a sentence that says what there is, with any method and any key."""

import json

import pytest
from django.test import AsyncClient, Client

from chatui.api import unserved
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from tests.chatui.api.asking import Program, json_of, key_of
from tests.support.environment import change

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = {
    "completions": "/v1/chat/completions",
    "embeddings": "Embeddings are not served",
    "audio/speech": "no model here hears or speaks",
    "audio/transcriptions": "no model here hears or speaks",
    "images/generations": "Pictures are not served",
    "moderations": "Moderation is not served",
    "rerank": "Reranking is not served",
    "files": "send their text",
    "files/file-1/content": "send their text",
    "assistants/asst_1": "/v1/conversations",
    "threads/thread_1/messages": "/v1/conversations",
    "batches": "those beyond the limit wait",
    "chat/completions/chatcmpl-1/messages": "GET /v1/responses/{id}",
    "responses/resp_1/nothing": "/v1/models, /v1/responses,",
    "nothing/at/all": "/v1/models, /v1/responses,",
    "EMBEDDINGS": "Embeddings are not served",
}


@pytest.mark.parametrize(("address", "words"), WORDS.items())
async def test_what_is_not_served_is_told_with_any_method_with_a_key_and_without(address: str, words: str, key: str) -> None:
    client = AsyncClient(raise_request_exception=False)
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"):
        for headers in ({}, {"authorization": f"Bearer {key}"}):
            response = await client.generic(method, f"/v1/{address}", b"{}", "application/json", headers=headers)
            assert response.status_code == 404, (method, headers)
            if method != "HEAD":
                error = json_of(response)["error"]
                assert (error["type"], error["param"], error["code"]) == ("not_found", None, "unknown_address")
                assert words in error["message"]
            assert ("x-ratelimit-limit-requests" in response.headers) == bool(headers)


async def test_the_api_itself_has_no_page(key: str) -> None:
    response = await Program(key).get("/v1")
    assert response.status_code == 404 and "/v1/models" in json_of(response)["error"]["message"]


async def test_a_key_that_is_sent_counts_and_a_wrong_one_changes_nothing(ada: User) -> None:
    from channels.db import database_sync_to_async

    assert (await Program("wrong").get("/v1/embeddings")).content == (await Program("").get("/v1/embeddings")).content  # type: ignore[attr-defined]
    program = Program(await database_sync_to_async(key_of)(ada, per_minute=1))
    assert [(await program.get("/v1/embeddings")).status_code for _ in range(2)] == [404, 429]


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [("GET", "embeddings?include[]=reasoning.content", ""), ("POST", "completions", '{"include_reasoning": true}')],
)
async def test_asking_for_raw_reasoning_is_recorded_there_too(method: str, address: str, body: str, key: str) -> None:
    client, headers = AsyncClient(), {"authorization": f"Bearer {key}"}
    await client.generic(method, f"/v1/{address}", body.encode(), "application/json", headers=headers)
    await client.generic("POST", "/v1/completions", b"{", "application/json", headers=headers)
    assert await AuditEvent.objects.filter(code="E-PERM-VISIBILITY").acount() == 1


async def test_pages_of_listed_origins_may_read_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"api_origins": ["https://app.example.org"]})
    client, origin = AsyncClient(), {"origin": "https://app.example.org"}
    asked = await client.options("/v1/embeddings", headers=origin | {"access-control-request-method": "POST"})
    assert asked.status_code == 204 and asked.headers["Access-Control-Allow-Origin"] == origin["origin"]
    refused = await client.post("/v1/embeddings", b"{}", content_type="application/json", headers=origin)
    assert refused.status_code == 404 and refused.headers["Access-Control-Allow-Origin"] == origin["origin"]


async def test_nothing_is_told_while_the_api_is_off(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    change(monkeypatch, {"api": False})
    response = await Program(key).get("/v1/embeddings")
    assert response.status_code == 404 and json_of(response)["error"]["code"] == "not_found"
    assert (await AsyncClient().options("/v1/embeddings")).status_code == 404


def test_every_sentence_names_only_addresses_that_are_served() -> None:
    described = json.loads(Client().get("/v1/openapi.json").content)
    served = {f"/v1{path.replace('answer_id', 'id')}" for path in described["paths"]}
    for address, sentence in unserved.SENTENCES.items():
        named = {word.strip(",.:;") for word in sentence.split() if word.startswith("/v1/")}
        assert named <= served, address
        assert f"/v1/{address}" not in served or address == "chat/completions", json.dumps(address)
