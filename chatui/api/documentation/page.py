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
"""What the page sends unless the reader writes something else."""


@dataclass(frozen=True, slots=True)
class ShownField:
    """A field of a request, or a parameter of an address: its name, what it may be, and whether it has to be there."""

    name: str
    kind: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class ShownOperation:
    """What one method of an address does. ``example``: a body to try it with; None where it takes none."""

    id: str
    method: str
    path: str
    summary: str
    fields: tuple[ShownField, ...]
    example: str | None


@require_GET
@login_required
def reference(request: HttpRequest) -> HttpResponse:
    """All addresses with their fields."""
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
    """What a value may be, in a few words."""
    if options := schema.get("anyOf"):
        return " | ".join(kind for each in options if (kind := _kind(each)) != "null")
    if values := schema.get("enum"):
        return " | ".join(map(str, values))
    if reference := schema.get("$ref"):
        return str(reference).removeprefix(REFERENCE)
    bounds = [f"{sign} {schema[name]}" for name, sign in _BOUNDS.items() if name in schema]
    return " ".join([str(schema.get("type", "any")), *bounds])


_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤"}
