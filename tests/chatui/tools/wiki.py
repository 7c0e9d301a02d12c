"""An OpenAPI document of a wiki, and offers of its operations."""

import json
from pathlib import Path
from typing import Any

from chatui.tools.openapi.server import listed
from chatui.tools.remote.definition import OpenApiSpec
from chatui.tools.remote.offers import Listing, ToolOffer

WIKI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Wiki", "version": "1"},
    "servers": [{"url": "https://evil.example"}],
    "paths": {
        "/pages": {
            "get": {
                "operationId": "searchPages",
                "summary": "Finds pages",
                "parameters": [
                    {"name": "q", "in": "query", "required": True, "schema": {"type": "string"}, "description": "Words"},
                    {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "filter", "in": "query", "style": "deepObject", "schema": {"$ref": "#/components/schemas/Filter"}},
                    {"name": "api_key", "in": "query", "schema": {"type": "string"}},
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                    {"name": "X-Tenant", "in": "header", "schema": {"type": "string"}},
                    {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                ],
            },
            "post": {
                "operationId": "addPage",
                "description": "Adds a page.",
                "requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Page"}}}},
            },
        },
        "/pages/{page-id}/{part}": {
            "parameters": [{"name": "page-id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {
                "operationId": "getPage",
                "summary": "Opens a page",
                "parameters": [{"name": "part", "in": "path", "required": True, "schema": {"type": "string"}}],
            },
        },
    },
    "components": {
        "schemas": {
            "Filter": {"type": "object", "properties": {"owner": {"type": "string"}}},
            "Page": {
                "type": "object",
                "required": ["title"],
                "properties": {"id": {"type": "integer", "readOnly": True}, "title": {"type": "string"}},
            },
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "api_key"}},
    },
}


def spec_of(tmp_path: Path, document: object = WIKI, **values: Any) -> OpenApiSpec:
    """Write ``document`` to a file, with its table in the tools file."""
    path = tmp_path / "wiki.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    fields = {"name": "wiki", "url": "http://127.0.0.1:9/api", "document": path, "operations": ["searchPages"], **values}
    return OpenApiSpec.model_validate(fields)


def listing(tmp_path: Path, operation: dict[str, Any], path: str = "/x", **values: Any) -> Listing:
    """The tools made from one operation."""
    document = {"openapi": "3.0.3", "paths": {path: {"get": {"operationId": "op", "summary": "Does it", **operation}}}}
    return listed(spec_of(tmp_path, document, operations=["op"], **values))


def offer(tmp_path: Path, operation_id: str, **values: Any) -> ToolOffer:
    """An offer of one of the wiki's operations."""
    found = listed(spec_of(tmp_path, operations=[operation_id], **values))
    assert not found.problems
    return found.offers[operation_id]
