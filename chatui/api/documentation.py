"""Documents the API: its OpenAPI document, and the page on which people can try it with their own key.

The document is generated from the API's routes, handlers and request models, so that it cannot become outdated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import URLPattern
from django.views.decorators.http import require_GET
from pydantic import BaseModel

from chatui.api import asking, compacting, conversations, input_tokens, messages, stored_responses
from chatui.api.chat_request import ChatRequest
from chatui.api.compacting import CompactRequest
from chatui.api.conversations import ConversationRequest, ItemsRequest, MetadataRequest
from chatui.api.errors import ApiError
from chatui.api.guarded import KEY_HEADERS, Handler, shared_with
from chatui.api.input_tokens import CountedResponse
from chatui.api.messages_errors import error_body
from chatui.api.messages_request import CountedMessages, MessagesRequest
from chatui.api.response_object import ResponseHead, response_object
from chatui.api.response_request import ResponsesRequest
from chatui.api.urls import urlpatterns
from chatui.env import environment
from chatui.proxies import public_address

REFERENCE = "#/components/schemas/"
BODIES: Mapping[Handler, type[BaseModel]] = {
    asking.responses: ResponsesRequest,
    asking.chat: ChatRequest,
    compacting.compact: CompactRequest,
    input_tokens.count: CountedResponse,
    conversations.create: ConversationRequest,
    conversations.update: MetadataRequest,
    conversations.add: ItemsRequest,
    messages.create: MessagesRequest,
    messages.count_tokens: CountedMessages,
}
"""The request models of handlers."""
STREAMS = frozenset({asking.responses, asking.chat, messages.create, stored_responses.stored})
_PAGES = {"order": "string", "limit": "integer", "after": "string"}
QUERIES: Mapping[Handler, Mapping[str, str]] = {
    stored_responses.stored: {"stream": "boolean", "starting_after": "integer", "include[]": "string"},
    stored_responses.input_items: _PAGES,
    conversations.items: {**_PAGES, "include[]": "string"},
}
"""The query parameters of handlers."""
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def document(patterns: Iterable[URLPattern]) -> dict[str, Any]:
    """``patterns``: the addresses, whose views were made by ``guarded.endpoint``."""
    models = {model.__name__: model for model in BODIES.values()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Open Responses, Chat Completions and Messages", "version": "2026-04-24"},
        "servers": [{"url": "/v1"}],
        "security": [{name: []} for name in ("key", *KEY_HEADERS)],
        "paths": {f"/{_path(pattern)}": _operations(pattern) for pattern in patterns},
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                **{name: {"type": "apiKey", "in": "header", "name": name} for name in KEY_HEADERS},
            },
            "schemas": {**_schemas(models.values()), "Response": _response(), "Error": _error(), "MessagesError": _messages_error()},
        },
    }


async def view(request: HttpRequest) -> HttpResponseBase:
    """Serves the document to everybody: it reveals nothing about this server except that it has this API."""
    if not environment().api:
        return ApiError(404, "not_found", "not_found", "There is no such address.").response()
    response = JsonResponse(document(urlpatterns))
    for name, value in shared_with(request).items():
        response.headers[name] = value
    return response


def _path(pattern: URLPattern) -> str:
    return _PARAMETER.sub(r"{\1}", str(pattern.pattern))


def _operations(pattern: URLPattern) -> dict[str, Any]:
    handlers: Mapping[str, Handler] = pattern.callback.handlers  # type: ignore[attr-defined]
    names = _PARAMETER.findall(str(pattern.pattern))
    return {method.lower(): _operation(f"{method.lower()}_{pattern.name}", handler, names) for method, handler in handlers.items()}


def _operation(name: str, handler: Handler, names: Iterable[str]) -> dict[str, Any]:
    parameters = [{"name": each, "in": "path", "required": True, "schema": {"type": "string"}} for each in names]
    parameters += [{"name": each, "in": "query", "schema": {"type": kind}} for each, kind in QUERIES.get(handler, {}).items()]
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": (handler.__doc__ or "").strip().splitlines()[0],
        "parameters": parameters,
        "responses": {"200": _replies(handler), **_refusals(handler, has_id=bool(names)), "default": _wrong("What went wrong.", handler)},
    }
    if body := BODIES.get(handler):
        operation["requestBody"] = {"required": True, **_content(f"{REFERENCE}{body.__name__}")}
    return operation


_REFUSALS = {
    400: "A field is invalid, or asks for what is not served. `param` names it.",
    401: "There is no key, or it does not work.",
    403: "The key may not use this format.",
    404: "There is no such model, response, conversation or item for this key.",
    405: "The address does not know this method.",
    409: "The response, or another one in its conversation, is still being written.",
    413: "The body is too large.",
    415: "The body is not plain application/json.",
    429: "Too many requests, or a usage limit is reached. `Retry-After` says when to come again.",
    500: "The model server failed, or this server.",
    503: "The model server or this server is busy. `Retry-After` says when to come again.",
}
_OF_BODIES, _OF_IDS = (400, 403, 404, 409, 413, 415), (400, 403, 404)
_OF_ALL = (401, 405, 429, 500, 503)


def _refusals(handler: Handler, *, has_id: bool) -> dict[str, Any]:
    statuses = {*_OF_ALL, *(_OF_BODIES if handler in BODIES else ()), *(_OF_IDS if has_id else ())}
    return {str(status): _wrong(_REFUSALS[status], handler) for status in sorted(statuses)}


def _wrong(words: str, handler: Handler) -> dict[str, Any]:
    form = "MessagesError" if handler in (messages.create, messages.count_tokens) else "Error"
    return _json(words, f"{REFERENCE}{form}")


def _replies(handler: Handler) -> dict[str, Any]:
    has_response = handler in (asking.responses, stored_responses.stored, stored_responses.cancel)
    replies: dict[str, Any] = {"description": "The answer.", "content": {}}
    if has_response:
        replies = _json("The answer.", f"{REFERENCE}Response")
    if handler in STREAMS:
        replies["content"].setdefault("application/json", {"schema": {"type": "object"}})
        replies["content"]["text/event-stream"] = {}  # OpenAPI 3.1 has no words for the events of a stream
    return replies


def _json(words: str, reference: str) -> dict[str, Any]:
    return {"description": words, **_content(reference)}


def _content(reference: str) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"$ref": reference}}}}


def _schemas(models: Iterable[type[BaseModel]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for model in models:
        schema = model.model_json_schema(ref_template=REFERENCE + "{model}")
        found |= schema.pop("$defs", {})
        found[model.__name__] = schema
    return found


def _response() -> dict[str, Any]:
    example = response_object(ResponseHead(UUID(int=0), "", datetime.fromtimestamp(0, UTC), {}), [])
    return {"type": "object", "required": list(example), "properties": {name: {} for name in example}}


def _error() -> dict[str, Any]:
    names = list(ApiError(400, "", "", "").body())
    inner = {"type": "object", "required": names, "properties": {name: {"type": ["string", "null"]} for name in names}}
    return {"type": "object", "required": ["error"], "properties": {"error": inner}}


def _messages_error() -> dict[str, Any]:
    example = error_body(ApiError(400, "", "", ""))
    texts = {"type": "object", "required": list(example["error"]), "properties": {name: {"type": "string"} for name in example["error"]}}
    return {"type": "object", "required": list(example), "properties": {name: {"type": "string"} for name in example} | {"error": texts}}


EXAMPLES = {
    "/responses": {"input": "What is two and two?", "store": False},
    "/responses/input_tokens": {"input": "What is two and two?"},
    "/responses/compact": {"model": "", "input": "What is two and two?"},
    "/conversations": {"items": [{"role": "user", "content": "What is two and two?"}]},
    "/chat/completions": {"messages": [{"role": "user", "content": "What is two and two?"}], "store": False},
    "/messages": {"max_tokens": 1000, "messages": [{"role": "user", "content": "What is two and two?"}], "store": False},
    "/messages/count_tokens": {"messages": [{"role": "user", "content": "What is two and two?"}]},
}
"""The request that the page sends unless the reader changes it."""


@dataclass(frozen=True, slots=True)
class DocumentedField:
    """A request field or a URL parameter: its name, its type, and whether it is required."""

    name: str
    kind: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class ShownOperation:
    """One method of an endpoint. ``example``: a body to try it with; None if it takes none."""

    id: str
    method: str
    path: str
    summary: str
    fields: tuple[DocumentedField, ...]
    example: str | None


@require_GET
@login_required
def reference(request: HttpRequest) -> HttpResponse:
    """All endpoints with their fields."""
    if not environment().api:
        raise Http404
    described = document(urlpatterns)
    shown = [
        _shown(method, path, operation, described)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    ]
    context = {"operations": shown, "address": public_address(request, "/v1"), "document_name": "openapi.json"}
    return render(request, "account/reference.html", context)


def _shown(method: str, path: str, operation: Mapping[str, Any], described: Mapping[str, Any]) -> ShownOperation:
    fields = [DocumentedField(each["name"], _kind(each["schema"]), each.get("required", False)) for each in operation["parameters"]]
    example = None
    if body := operation.get("requestBody"):
        name = body["content"]["application/json"]["schema"]["$ref"].removeprefix(REFERENCE)
        fields += _fields(described["components"]["schemas"][name])
        example = json.dumps(EXAMPLES.get(path, {}), indent=2)
    return ShownOperation(operation["operationId"], method.upper(), path, operation["summary"], tuple(fields), example)


def _fields(schema: Mapping[str, Any]) -> Iterable[DocumentedField]:
    needed = schema.get("required", ())
    return [DocumentedField(name, _kind(each), name in needed) for name, each in schema["properties"].items()]


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a value, in a few words."""
    if options := schema.get("anyOf"):
        return " | ".join(kind for each in options if (kind := _kind(each)) != "null")
    if values := schema.get("enum"):
        return " | ".join(map(str, values))
    if reference := schema.get("$ref"):
        return str(reference).removeprefix(REFERENCE)
    bounds = [f"{sign} {schema[name]}" for name, sign in _BOUNDS.items() if name in schema]
    return " ".join([str(schema.get("type", "any")), *bounds])


_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤"}
