"""The page that documents the API, and on which people can try it with their own key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chatui.api.documentation.openapi import REFERENCE, document
from chatui.api.endpoints import endpoints
from chatui.env import environment

EXAMPLES = {
    "/responses": {"input": "What is two and two?", "store": False},
    "/responses/compact": {"model": "", "input": "What is two and two?"},
    "/chat/completions": {"messages": [{"role": "user", "content": "What is two and two?"}], "store": False},
}
"""The request that the page sends unless the reader changes it."""


@dataclass(frozen=True, slots=True)
class ShownField:
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
    fields: tuple[ShownField, ...]
    example: str | None


@require_GET
@login_required
def reference(request: HttpRequest) -> HttpResponse:
    """All endpoints with their fields."""
    if not environment().api:
        raise Http404
    described = document(endpoints)
    shown = [
        _shown(method, path, operation, described)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    ]
    context = {"operations": shown, "address": request.build_absolute_uri("/v1"), "document_name": "openapi.json"}
    return render(request, "api_keys/reference.html", context)


def _shown(method: str, path: str, operation: Mapping[str, Any], described: Mapping[str, Any]) -> ShownOperation:
    fields = [ShownField(each["name"], _kind(each["schema"]), each.get("required", False)) for each in operation["parameters"]]
    example = None
    if body := operation.get("requestBody"):
        name = body["content"]["application/json"]["schema"]["$ref"].removeprefix(REFERENCE)
        fields += _fields(described["components"]["schemas"][name])
        example = json.dumps(EXAMPLES.get(path, {}), indent=2)
    return ShownOperation(operation["operationId"], method.upper(), path, operation["summary"], tuple(fields), example)


def _fields(schema: Mapping[str, Any]) -> Iterable[ShownField]:
    needed = schema.get("required", ())
    return [ShownField(name, _kind(each), name in needed) for name, each in schema["properties"].items()]


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
