"""An MCP server of the tools file: lists the tools that the operator named, and calls them."""

from __future__ import annotations

from typing import Any, Protocol

from chatui.tools.mcp import listing
from chatui.tools.mcp.http import HttpPeer
from chatui.tools.mcp.messages import RefusedError
from chatui.tools.mcp.stdio import StdioPeer
from chatui.tools.remote import credentials
from chatui.tools.remote.offer import Listing, Offer, ServerError
from chatui.tools.remote.server_definition import McpSpec
from chatui.tools.tool import ToolError

MAX_PAGES = 20
MAX_LISTED = 1000


class Peer(Protocol):
    """The transport to an MCP server, HTTP or stdio."""

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request.

        Raises:
            RefusedError: the server responded with an error.
            ServerError: the server did not respond.
        """
        ...

    async def close(self) -> None:
        """Close the transport."""
        ...


class McpServer:
    """A ``Server`` for the MCP protocol."""

    def __init__(self, spec: McpSpec) -> None:
        self._spec = spec
        self._peer: Peer = (
            HttpPeer(spec.url, lambda: credentials.texts(spec.headers))
            if spec.url
            else StdioPeer(spec.command, lambda: credentials.texts(spec.environment), spec.directory)
        )

    async def listed(self) -> Listing:
        """See ``Server``. What a server says about itself (``instructions``, annotations) is not used."""
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._page(cursor)
            tools, after = page.get("tools"), page.get("nextCursor")
            found += tools if isinstance(tools, list) else []
            if not isinstance(after, str) or not after or after == cursor or len(found) > MAX_LISTED:
                break
            cursor = after
        return listing.listing(self._spec.name, self._spec.tools, found[:MAX_LISTED])

    async def _page(self, cursor: str | None) -> dict[str, Any]:
        try:
            return await self._peer.ask("tools/list", {"cursor": cursor} if cursor else {})
        except RefusedError:
            raise ServerError("the server refused to list its tools") from None

    async def call(self, offer: Offer, arguments: dict[str, Any]) -> Any:
        """See ``Server``."""
        secret = credentials.secrets(self._spec.headers, self._spec.environment)
        named = {offer.places[name].name: value for name, value in arguments.items() if name in offer.places}
        try:
            found = await self._peer.ask("tools/call", {"name": offer.remote, "arguments": named})
        except RefusedError as error:
            message = credentials.without(error.server_message[: listing.ERROR_CHARS * 2], secret)[: listing.ERROR_CHARS]
            raise ToolError(f"The server refused the call: {message}") from None
        return listing.read(credentials.without(found, secret))

    async def close(self) -> None:
        """See ``Server``."""
        await self._peer.close()
