"""An OpenAPI document of a wiki, and the tools that the product makes of such documents, which tests call.

Whoever changes how a document becomes tools changes it here, and in no test.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from chatui.tools import confirmations
from chatui.tools.execution import run_on_tools_loop
from chatui.tools.openapi.server import OpenApiServer
from chatui.tools.remote.definition import OpenApiSpec
from chatui.tools.remote.offers import ServerError
from chatui.tools.server_registry import ServerConnection, tool_of
from chatui.tools.tool import Tool
from tests.support.peer import PeerRequest, peer, saying
from tests.support.tool_calls import ToolTurn

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


class UnreadableError(Exception):
    """Why a document cannot be read, for the operator."""


@dataclass(frozen=True)
class Operation:
    """An operation of a document as a tool."""

    tool: Tool
    turn: ToolTurn
    """A person's turn that is offered it."""
    remote: str
    left_out: tuple[str, ...]
    """What of the document the model is not shown, for the operator."""
    digest: str
    at: Callable[[str], "Operation"] = field(repr=False)
    """The same operation of a server with another address."""
    close: Callable[[], None] = field(repr=False)
    confirm: Callable[[], None] = field(repr=False)
    """As the operator does."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The schema of each argument."""
        found: Mapping[str, Any] = self.tool.parameters["properties"]
        return found

    @property
    def required(self) -> list[str]:
        return list(self.tool.parameters.get("required", ()))

    def call(self, seconds: float = 5, **arguments: Any) -> Any:
        return asyncio.run(self.turn.call(self.tool.name, seconds, **arguments))

    def sent(self, **arguments: Any) -> PeerRequest:
        """The request that a call sends. Raises RefusedError if it sends none."""
        with peer(saying({})) as server:
            here = self.at(f"{server.url}/api")
            try:
                here.call(30, **arguments)
            finally:
                here.close()
                assert len(server.requests) <= 1
            return server.requests[0]


@dataclass(frozen=True)
class Document:
    """What a document becomes: the tools, and why there are no others, both by the ids of operations."""

    tools: dict[str, Operation]
    problems: dict[str, str]


def document(tmp_path: Path, content: object = WIKI, url: str = "http://127.0.0.1:9/api", **values: Any) -> Document:
    """What becomes of this document as the operator configures it, with ``values`` of the tools file.

    Raises UnreadableError, and ValueError for what the operator may not configure.
    """
    spec = _spec(tmp_path, content, url, values)
    connection = ServerConnection(spec, OpenApiServer(spec))
    try:
        found = run_on_tools_loop(OpenApiServer(spec).listed()).result(60)
    except ServerError as error:
        raise UnreadableError(str(error)) from None

    def close() -> None:
        run_on_tools_loop(connection.close()).result(10)

    def elsewhere(operation_id: str) -> Callable[[str], Operation]:
        return lambda other: document(tmp_path, content, other, **values).tools[operation_id]

    made: dict[str, Operation] = {}
    for operation_id, offer in found.offers.items():
        tool = tool_of(offer, connection)
        turn = ToolTurn(tools={tool.name: tool})
        made[operation_id] = Operation(
            tool, turn, offer.remote, offer.left_out, offer.digest(), elsewhere(operation_id), close, partial(confirmations.confirm, offer)
        )
    return Document(made, found.problems)


def _spec(tmp_path: Path, content: object, url: str, values: Mapping[str, Any]) -> OpenApiSpec:
    path = tmp_path / "wiki.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return OpenApiSpec.model_validate({"name": "wiki", "url": url, "document": path, "operations": ["searchPages"], **values})


def lister(tmp_path: Path) -> Callable[[], object]:
    """What one connection to the wiki knows of it, each time it is asked."""
    server = OpenApiServer(_spec(tmp_path, WIKI, "http://127.0.0.1:9/api", {}))
    return lambda: asyncio.run(server.listed())


def operation(tmp_path: Path, definition: dict[str, Any], path: str = "/x", method: str = "get", **root: Any) -> Operation:
    """An operation that its method and path name, as the only one of a document with this ``root``."""
    name = f"{method.upper()} {path}"
    found = document(tmp_path, {"openapi": "3.1.0", "paths": {path: {method: definition}}, **root}, operations=[name])
    assert not found.problems, found.problems
    return found.tools[name]


def of_wiki(tmp_path: Path, operation_id: str, **values: Any) -> Operation:
    """One of the wiki's operations."""
    found = document(tmp_path, operations=[operation_id], **values)
    assert not found.problems
    return found.tools[operation_id]
