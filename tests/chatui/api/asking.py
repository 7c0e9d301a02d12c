"""A client for the tests of the API: it makes a key and sends requests to the product in the same process, as a program would."""

import json
from typing import Any

from channels.db import database_sync_to_async
from django.http import HttpResponseBase
from django.test import AsyncClient, Client
from django.urls import get_resolver

from chatui.accounts import api_keys
from chatui.accounts.api_keys import NewKeyOptions
from chatui.audit_log.record import Visitor
from chatui.models.user import User

ADDRESS = "192.0.2.9"
IGNORED = "x-chatui-ignored"
"""The header with the names of the request's fields that changed nothing."""


def api_patterns() -> list[Any]:
    """The addresses below ``/v1/``, as Django has them."""
    routers: list[Any] = get_resolver().url_patterns
    return next(each.url_patterns for each in routers if str(each.pattern) == "v1/")


def fields_of(path: str) -> dict[str, Any]:
    """The fields of what is posted to an address below ``/v1``, each with its schema, as the API describes itself."""
    found = json.loads(Client().get("/v1/openapi.json").content)
    name = found["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    fields: dict[str, Any] = found["components"]["schemas"][name]["properties"]
    return fields


def key_of(person: User, **options: Any) -> str:
    """The text of a new key."""
    choices: dict[str, Any] = {"name": "A script", "for_responses": True, "for_chat": True, "for_messages": True} | options
    return api_keys.create(Visitor(person, ADDRESS, "shell"), NewKeyOptions(**choices)).text


new_key = database_sync_to_async(key_of)


class Program:
    """Sends requests with a key."""

    def __init__(self, key: str) -> None:
        self._client = AsyncClient(raise_request_exception=False)
        self._headers = {"authorization": f"Bearer {key}"} if key else {}

    async def post(self, path: str, body: object, **headers: str) -> HttpResponseBase:
        data = body if isinstance(body, str | bytes) else json.dumps({"model": None} | body if isinstance(body, dict) else body)
        kind = headers.pop("content_type", "application/json")
        return await self._client.post(path, data, content_type=kind, headers=self._headers | headers)  # type: ignore[arg-type]

    async def get(self, path: str) -> HttpResponseBase:
        return await self._client.get(path, headers=self._headers)

    async def delete(self, path: str) -> HttpResponseBase:
        return await self._client.delete(path, headers=self._headers)

    async def ask(self, body: object, path: str = "/v1/responses") -> dict[str, Any]:
        """The response object of a request that is not streamed."""
        response = await self.post(path, body)
        found: dict[str, Any] = json_of(response)
        assert response.status_code == 200, found
        return found

    async def stream(self, body: dict[str, Any], path: str = "/v1/responses") -> list[dict[str, Any]]:
        """The events of a streamed response."""
        response = await self.post(path, body | {"stream": True})
        assert response.status_code == 200, getattr(response, "content", b"")
        assert response.headers["Content-Type"].startswith("text/event-stream")
        return events_of(await whole(response))


async def whole(response: HttpResponseBase) -> bytes:
    """The whole body in bytes."""
    if not response.streaming:
        return response.content  # type: ignore[attr-defined, no-any-return]
    return b"".join([chunk async for chunk in response])  # type: ignore[attr-defined]


def json_of(response: HttpResponseBase) -> Any:
    return json.loads(response.content)  # type: ignore[attr-defined]


def events_of(body: bytes) -> list[dict[str, Any]]:
    """The events of a stream, each named by its type; the stream must end with ``[DONE]``."""
    pieces = [piece for piece in body.decode().split("\n\n") if piece and not piece.startswith(":")]
    assert pieces.pop() == "data: [DONE]"
    events = []
    for piece in pieces:
        *names, data = piece.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert names in ([], [f"event: {event.get('type')}"])
        events.append(event)
    return events


def text_of(answer: dict[str, Any]) -> str:
    """The text of the final answer in a response."""
    finals = [item for item in answer["output"] if item["type"] == "message" and item["phase"] == "final_answer"]
    return "".join(part["text"] for item in finals for part in item["content"])
