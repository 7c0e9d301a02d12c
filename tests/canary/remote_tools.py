"""Tools of an MCP server and of an OpenAPI document, with markers in all their text: names, descriptions, replies, errors."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from chatui.tools.tool import Tool
from tests.support import peer as peers
from tests.support.canary import Canary
from tests.support.mcp_calls import Turn, offer_of
from tests.support.mcp_server import Mcp, result
from tests.support.peer import PeerRequest, peer
from tests.support.wiki import document

WAYS = ("works", "refuses", "fails", "breaks")
"""The behaviours of the servers, selected by the argument of a call."""


@contextmanager
def remote_tools(canary: Canary, directory: Path) -> Iterator[dict[str, Tool]]:
    """The two tools, by their kind. Each has one argument, ``how``: one of WAYS, and any text after it."""
    with peer(_mcp(canary)) as mcp, peer(_api(canary)) as api:
        yield {"mcp": _mcp_tool(canary, mcp.url), "openapi": _api_tool(canary, api.url, directory)}


def _named(tool: Tool, canary: Canary, kind: str) -> Tool:
    # The product makes names of lower-case letters; markers have others.
    return replace(tool, name=canary.plant(f"name of a tool over {kind}"))


TEXTS: dict[str, Any] = {}
"""The MCP server's description of its tool."""


def _mcp(canary: Canary) -> Mcp:
    how = {"type": "string", "description": canary.plant("description of an argument over MCP")}
    TEXTS.update(
        name=canary.plant("the server's own name of a tool over MCP"),
        title=canary.plant("title of a tool over MCP"),
        description=f"Looks up {canary.plant('description of a tool over MCP')}.",
        inputSchema={"type": "object", "properties": {"how": how}, "required": ["how"]},
    )
    texts = {way: canary.plant(f"what an MCP server says when it {way}") for way in WAYS}

    async def call(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        way = request.json["params"]["arguments"]["how"].split()[0]
        if way == "refuses":
            await peers.send(writer, {"jsonrpc": "2.0", "id": request.json["id"], "error": {"code": -32000, "message": texts[way]}})
        elif way == "breaks":
            await peers.send(writer, texts[way].encode(), 500)
        else:
            content = [{"type": "text", "text": texts[way]}]
            await result({"content": content, "isError": way == "fails"})(request, writer)

    return Mcp(tools=[dict(TEXTS)], on={"tools/call": call})


def _mcp_tool(canary: Canary, url: str) -> Tool:
    turn = Turn(offer_of(TEXTS), url=url, tools=[TEXTS["name"]])
    return _named(turn.tool, canary, "MCP")


def _api(canary: Canary) -> Any:
    texts = {way: canary.plant(f"what an HTTP API says when it {way}") for way in WAYS}
    statuses = {"works": 200, "refuses": 403, "fails": 500, "breaks": 200}

    async def answer(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        way = next(way for way in WAYS if f"how={way}" in request.path)
        if way == "breaks":
            await peers.send(writer, texts[way].encode(), kind="application/json")
        else:
            await peers.send(writer, {"said": texts[way]}, statuses[way])

    return answer


def _api_tool(canary: Canary, url: str, directory: Path) -> Tool:
    how = {"name": "how", "in": "query", "required": True, "schema": {"type": "string"}}
    operation = {
        "summary": f"Looks up {canary.plant('summary of an operation')}.",
        "parameters": [how | {"description": canary.plant("description of a parameter of an operation")}],
    }
    path = f"/{canary.plant('path of an operation')}"
    content = {"openapi": "3.0.3", "paths": {path: {"get": {"operationId": "op", **operation}}}}
    return _named(document(directory, content, url, operations=["op"]).tools["op"].tool, canary, "OpenAPI")
