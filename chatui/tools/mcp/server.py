"""An MCP server of the tools file: lists the tools that the operator named, and calls them.

The tools that it lists become offers, and the results of calls are read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from chatui.tools.mcp.http import HttpPeer
from chatui.tools.mcp.messages import ServerRefusedError
from chatui.tools.mcp.stdio import StdioPeer
from chatui.tools.remote import definition as credentials
from chatui.tools.remote.definition import McpSpec
from chatui.tools.remote.offers import ArgumentPlace, Listing, ServerError, ToolOffer, argument_name, cleaned, tool_name, without_arguments
from chatui.tools.remote.schemas import reduced
from chatui.tools.tool import DESCRIPTION_CHARS, ToolError, ToolUnusableError

log = logging.getLogger(__name__)

MAX_ARGUMENTS = 50
ERROR_CHARS = 500
LINE_CHARS = 300
"""Of each line of a program's standard error that is logged."""
_MIRRORED = "x-mcp-header"
_NO_MORE = "The tool asked for more input instead of answering, but can be given nothing except its arguments."


def listing(server: str, selected: Sequence[str], found: Sequence[Any]) -> Listing:
    """The offers for those of a server's tools (``found``) that the operator named (``selected``)."""
    offers: dict[str, ToolOffer] = {}
    problems: dict[str, str] = {}
    for remote in selected:
        matching = [each for each in found if isinstance(each, Mapping) and each.get("name") == remote]
        if len(matching) != 1:
            problems[remote] = "the server has no such tool" if not matching else "the server has several tools of that name"
            continue
        try:
            offers[remote] = _offer(server, matching[0], tool_name(server, remote, {offer.name for offer in offers.values()}))
        except ToolUnusableError as error:
            problems[remote] = str(error)
        except RecursionError:
            problems[remote] = "its schema is nested too deeply"
    return Listing(offers=offers, problems=problems)


def _offer(server: str, definition: Mapping[str, Any], name: str) -> ToolOffer:
    words = next((each for each in (definition.get("description"), definition.get("title")) if isinstance(each, str) and each.strip()), "")
    description = cleaned(words, DESCRIPTION_CHARS)
    if not any(map(str.isalnum, description)):
        raise ToolUnusableError("it has no description, so the model would not know what it is for")
    schema = definition.get("inputSchema")
    if not isinstance(schema, Mapping):
        raise ToolUnusableError("it has no schema")
    if _MIRRORED in json.dumps(schema):
        raise ToolUnusableError("it wants arguments as headers, which proxies may log")
    parameters, places = _arguments(schema)
    return ToolOffer(
        name=name, server=server, remote=str(definition["name"]), description=description, parameters=parameters, places=places
    )


def _arguments(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, ArgumentPlace]]:
    """The schema of the arguments under our own names, and the server's name for each argument."""
    declared = schema.get("properties")
    wires = list(declared) if isinstance(declared, Mapping) else []
    if len(wires) > MAX_ARGUMENTS:
        raise ToolUnusableError("it has too many arguments")
    places: dict[str, ArgumentPlace] = {}
    for wire in wires:
        name = argument_name(str(wire), places)
        if name is None:
            raise ToolUnusableError("it has an argument whose name cannot be shown to a model")
        places[name] = ArgumentPlace(part="arguments", name=str(wire))
    needed = schema.get("required")
    required = [name for name, place in places.items() if isinstance(needed, list) and place.name in needed]
    properties = {name: reduced(declared[place.name], schema) for name, place in places.items()} if isinstance(declared, Mapping) else {}
    whole: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return reduced({**whole, "required": required} if required else whole), places


def read(result: Mapping[str, Any]) -> Any:
    """The result of a call, as JSON or text. Images and audio are only mentioned.

    Raises:
        ToolError: the tool reports a failure, or requests more input.
    """
    if result.get("resultType", "complete") != "complete":
        raise ToolError(_NO_MORE)
    content = result.get("content")
    parts = [_part(each) for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []
    text = "\n".join(filter(None, parts))
    if result.get("isError") is True:
        raise ToolError(f"The tool failed: {text[:ERROR_CHARS]}" if text else "The tool failed.")
    structured = result.get("structuredContent")
    return structured if isinstance(structured, dict) else text


def _part(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind == "resource" and isinstance(inner := part.get("resource"), Mapping):
        return str(inner["text"]) if isinstance(inner.get("text"), str) else "[a file that is not text was returned]"
    if kind == "resource_link":
        return f"[a link was returned: {cleaned(str(part.get('uri', '')), 200)}]"
    return {"image": "[an image was returned]", "audio": "[a sound was returned]"}.get(str(kind), "")


MAX_PAGES = 20
MAX_LISTED = 1000


class McpTransport(Protocol):
    """The transport to an MCP server, HTTP or stdio."""

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request.

        Raises:
            RefusedError: the server responded with an error.
            ServerError: the server did not respond.
        """
        ...

    async def ping(self) -> None:
        """See ``ToolServer``."""
        ...

    async def close(self) -> None:
        """Close the transport."""
        ...


class McpServer:
    """A ``Server`` for the MCP protocol."""

    def __init__(self, spec: McpSpec) -> None:
        self._spec = spec
        self._peer: McpTransport = (
            HttpPeer(spec.url, lambda: credentials.texts(spec.headers))
            if spec.url
            else StdioPeer(spec.command, lambda: credentials.texts(spec.environment), spec.directory, self._tell)
        )

    async def listed(self) -> Listing:
        """See ``Server``. What a server says about itself (``instructions``, annotations) is not used."""
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            with without_arguments():
                page = await self._page(cursor)
            tools, after = page.get("tools"), page.get("nextCursor")
            found += tools if isinstance(tools, list) else []
            if not isinstance(after, str) or not after or after == cursor or len(found) > MAX_LISTED:
                break
            cursor = after
        return listing(self._spec.name, self._spec.tools, found[:MAX_LISTED])

    async def _page(self, cursor: str | None) -> dict[str, Any]:
        try:
            return await self._peer.ask("tools/list", {"cursor": cursor} if cursor else {})
        except ServerRefusedError:
            raise ServerError("the server refused to list its tools") from None

    async def call(self, offer: ToolOffer, arguments: dict[str, Any]) -> Any:
        """See ``Server``."""
        secret = credentials.secrets(self._spec.headers, self._spec.environment)
        named = {offer.places[name].name: value for name, value in arguments.items() if name in offer.places}
        try:
            found = await self._peer.ask("tools/call", {"name": offer.remote, "arguments": named})
        except ServerRefusedError as error:
            message = credentials.without(error.server_message[: ERROR_CHARS * 2], secret)[:ERROR_CHARS]
            raise ToolError(f"The server refused the call: {message}") from None
        return read(credentials.without(found, secret))

    async def ping(self) -> None:
        """See ``Server``."""
        await self._peer.ping()

    async def close(self) -> None:
        """See ``Server``."""
        await self._peer.close()

    def _tell(self, event: str, words: Sequence[str] = ()) -> None:
        """Tell the operator. ``words``: lines of the program, which are only logged, and without credentials."""
        shown: Sequence[str] = ()
        with suppress(ServerError):
            shown = credentials.without(list(words), credentials.secrets(self._spec.environment))
        log.warning("tool server %s: %s%s", self._spec.name, event, "".join(f" | {cleaned(line, LINE_CHARS)}" for line in shown))
