"""One tool server in this process: calls its tools, and checks that they are still what the operator confirmed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

from chatui.tools.remote.breaker import Breaker
from chatui.tools.remote.offer import Listing, Offer, Server, ServerError
from chatui.tools.remote.server_definition import ServerSpec
from chatui.tools.tool import ToolError

log = logging.getLogger(__name__)

LISTED_SECONDS = 300.0
"""The maximum age of a tool listing when a tool is called."""
LIST_SECONDS = 20.0
MAX_CALLS = 20
"""The most simultaneous calls to one server in one process; others wait, within their time limit."""


class ServerConnection:
    """The connection to a tool server. Use it on the tools' event loop; only ``changed`` may be called in any thread."""

    def __init__(self, spec: ServerSpec, server: Server) -> None:
        self.spec = spec
        self._server = server
        self._breaker = Breaker()
        self._listing: Listing | None = None
        self._listed_at = float("-inf")
        self._is_listing = asyncio.Lock()
        self._places = asyncio.Semaphore(MAX_CALLS)

    def changed(self, offer: Offer) -> bool:
        """Whether the server is known to have removed or changed the confirmed offer; False until its tools have been listed."""
        listing = self._listing
        return listing is not None and (offer.remote not in listing.offers or listing.offers[offer.remote].digest() != offer.digest())

    async def call(self, offer: Offer, arguments: Mapping[str, Any]) -> Any:
        """The result of a call, as JSON.

        Raises:
            ToolError: the call failed. The text is for the model.
        """
        try:
            async with self._places, self._breaker.watching(self.spec.seconds):
                await self._list_if_old()
                if self.changed(offer):
                    raise ToolError("This tool has changed, and cannot be used until the operator confirms it.")
                return await self._server.call(offer, dict(arguments))
        except ServerError as error:
            log.warning("tool server %s: %s", self.spec.name, error)
            raise ToolError(f"The tool could not be used: {error}.") from None

    async def refresh(self) -> None:
        """List the server's tools again if the last listing is old. A failure of the server is only logged."""
        try:
            async with self._breaker.watching(LIST_SECONDS):
                await self._list_if_old()
        except ServerError as error:
            log.warning("tool server %s: %s", self.spec.name, error)

    async def _list_if_old(self) -> None:
        async with self._is_listing:
            if time.monotonic() - self._listed_at < LISTED_SECONDS:
                return
            try:
                async with asyncio.timeout(LIST_SECONDS):
                    listing = await self._server.listed()
            except TimeoutError:
                raise ServerError(f"the server did not list its tools within {LIST_SECONDS:g} seconds") from None
            self._listing, self._listed_at = listing, time.monotonic()

    async def close(self) -> None:
        """Close the server's connections and processes."""
        await self._server.close()
