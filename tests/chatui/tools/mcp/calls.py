"""An MCP server of a test, and its tools as offered in a user's turn."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from chatui.tools.execution import Execution
from chatui.tools.file_access import SessionPlace
from chatui.tools.mcp.server import McpServer, offered
from chatui.tools.remote import offers
from chatui.tools.remote.definition import McpSpec
from chatui.tools.remote.offers import Listing, ToolOffer
from chatui.tools.server_registry import ServerConnection, tool_of
from chatui.tools.tool import CallingTurn

ADD = {
    "name": "add",
    "description": "Adds two numbers.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}


def spec_of(**values: Any) -> McpSpec:
    """Unless said otherwise, all calls share a session, whoever makes them."""
    return McpSpec.model_validate({"name": "demo", "tools": ["add"], "sessions": "shared", **values})


def offer_of(fields: dict[str, Any] | None = None) -> ToolOffer:
    """A confirmed tool."""
    fields = fields or ADD
    name = str(fields["name"])
    return listing("demo", [name], [fields]).offers[name]


def listing(server: str, selected: list[str], found: list[Any]) -> Listing:
    """What a server's tools (``found``) become."""
    return offers.listing(server, selected, lambda remote, name: offered(server, remote, found, name))


@asynccontextmanager
async def server_of(**values: Any) -> AsyncIterator[McpServer]:
    server = McpServer(spec_of(**values))
    try:
        yield server
    finally:
        await server.close()


def listed(**values: Any) -> Listing:
    async def ask() -> Listing:
        async with server_of(**values) as server:
            return await server.listed()

    return asyncio.run(ask())


class Remembered:
    """The stored sessions of a ``TurnSessions``, which one turn or several share."""

    def __init__(self) -> None:
        self.stored: dict[SessionPlace, str] = {}

    async def last(self, place: SessionPlace) -> str | None:
        return self.stored.get(place)

    async def replace(self, place: SessionPlace, before: str | None, after: str) -> str:
        if self.stored.get(place) == before:
            self.stored[place] = after
        return self.stored[place]


def new_conversation() -> CallingTurn:
    return CallingTurn(uuid4(), uuid4(), uuid4(), sessions=Remembered())


class Turn:
    """Calls one server on the event loop of tools, as the product does."""

    def __init__(self, confirmed: ToolOffer | None = None, **values: Any) -> None:
        spec = spec_of(**values)
        self.server = McpServer(spec)
        self.watched = ServerConnection(spec, self.server)
        self.offer = confirmed or offer_of()
        self.turn = new_conversation()
        self.tool = tool_of(self.offer, self.watched).for_turn(self.turn)

    def call(self, seconds: float = 10, **arguments: Any) -> Any:
        return json.loads(asyncio.run(self.result(seconds, **arguments)))

    async def result(self, seconds: float = 10, **arguments: Any) -> str:
        return await Execution(self.tool, arguments or {"a": 1}, 16_000).result(seconds)
