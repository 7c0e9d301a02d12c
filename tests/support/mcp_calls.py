"""An MCP server of a test, and its tools as offered in a user's turn."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from chatui.tools.execution import Execution, ToolsBusyError
from chatui.tools.file_access import SessionPlace
from chatui.tools.forms import Form
from chatui.tools.mcp.server import McpServer, offered
from chatui.tools.person import FormAnswer
from chatui.tools.remote import offers
from chatui.tools.remote.definition import McpSpec
from chatui.tools.remote.offers import Listing, ServerError, ToolOffer
from chatui.tools.server_registry import ServerConnection, tool_of
from chatui.tools.tool import CallingTurn, Tool, ToolError
from tests.support.tool_calls import BusyError, RefusedError
from tests.support.tool_servers import on_tools_loop

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


class NotOfferedError(Exception):
    """Why a tool cannot be offered, for the operator."""


def tool_with(schema: Any = ADD["inputSchema"], **fields: Any) -> ToolOffer:
    """What a server's tool with this schema becomes, and with these ``fields`` otherwise. Raises NotOfferedError."""
    found = listing("demo", ["add"], [{**ADD, "inputSchema": schema, **fields}])
    if found.problems:
        raise NotOfferedError(found.problems["add"])
    return found.offers["add"]


@asynccontextmanager
async def server_of(**values: Any) -> AsyncIterator[McpServer]:
    server = McpServer(spec_of(**values))
    try:
        yield server
    finally:
        await server.close()


class NotListedError(Exception):
    """Why a server's tools could not be listed, for the operator."""


def listed(**values: Any) -> Listing:
    """What the server offers now. Raises NotListedError."""

    async def ask() -> Listing:
        async with server_of(**values) as server:
            return await server.listed()

    try:
        return asyncio.run(ask())
    except ServerError as error:
        raise NotListedError(str(error)) from None


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


class Listener:
    """A ``TurnPerson``, whom a server tells, asks and reports to. They close each form."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.forms: list[Form] = []
        self.reports: list[tuple[int | None, str]] = []
        """Percentages, and words."""

    async def tell(self, speaker: str, text: str) -> bool:
        self.told.append(text)
        return True

    async def ask(self, speaker: str, form: Form) -> FormAnswer:
        self.forms.append(form)
        return FormAnswer("cancel")

    def report(self, speaker: str, percent: int | None, words: str) -> None:
        self.reports.append((percent, words))


def new_conversation() -> CallingTurn:
    return CallingTurn(uuid4(), uuid4(), uuid4(), sessions=Remembered())


def served_tool(fields: dict[str, Any] | None = None, **values: Any) -> Tool:
    """The confirmed tool of a server, as it is offered. ``values``: of its table in the tools file."""
    spec = spec_of(**values)
    return tool_of(offer_of(fields), ServerConnection(spec, McpServer(spec)))


class Turn:
    """Calls one server on the event loop of tools, as the product does."""

    def __init__(self, confirmed: ToolOffer | None = None, **values: Any) -> None:
        spec = spec_of(**values)
        self.server = McpServer(spec)
        self.watched = ServerConnection(spec, self.server)
        self.offer = confirmed or offer_of()
        self.turn = new_conversation()
        self.tool = tool_of(self.offer, self.watched).for_turn(self.turn)

    @classmethod
    @asynccontextmanager
    async def confirmed(cls, tool: str, **values: Any) -> AsyncIterator["Turn"]:
        """A turn in which this tool of the server can be called as the server lists it now; on the loop of the test."""
        async with server_of(tools=[tool], **values) as server:
            found = await server.listed()
        assert not found.problems, found.problems
        turn = cls(found.offers[tool], tools=[tool], **values)
        try:
            yield turn
        finally:
            await turn.watched.close()

    def call(self, seconds: float = 10, **arguments: Any) -> Any:
        return json.loads(asyncio.run(self.result(seconds, **arguments)))

    def close(self) -> None:
        """Close the connection to the server."""
        on_tools_loop(self.watched.close())

    async def result(self, seconds: float = 10, left: Callable[[], float] | None = None, **arguments: Any) -> str:
        """``left``: how much time is left for all calls of the turn. Raises as ``ToolTurn.call``."""
        limits = (seconds, left) if left else (seconds,)
        try:
            return await Execution(self.tool, arguments or {"a": 1}, 16_000).result(*limits)
        except ToolError as error:
            raise RefusedError(str(error)) from None
        except ToolsBusyError:
            raise BusyError from None

    async def called(self, seconds: float = 60, turn: CallingTurn | None = None, /, **arguments: Any) -> Any:
        """The same on the loop of the test, perhaps in another conversation's ``turn``; a failure is returned as a value."""
        try:
            async with asyncio.timeout(seconds):
                return await self.watched.call(self.offer, turn or self.turn, arguments or {"a": 1})
        except ToolError as error:
            return RefusedError(str(error))
        except TimeoutError as error:
            return error

    def for_person(self, person: Any) -> "Turn":
        """The same server in the turn of this ``TurnPerson``."""
        return self._with(person=person)

    def of(self, person_id: UUID) -> "Turn":
        """The same server in a turn of the person with this key."""
        return self._with(asked_by_id=person_id)

    def _with(self, **changed: Any) -> "Turn":
        other = copy(self)
        other.turn = replace(self.turn, **changed)
        other.tool = tool_of(self.offer, self.watched).for_turn(other.turn)
        return other

    def is_changed(self) -> bool:
        """Whether the server is known to have changed or removed the tool."""
        return self.watched.changed(self.offer)
