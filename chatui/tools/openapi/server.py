"""A server that an OpenAPI document describes: lists the operations that the operator named, and calls them."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from chatui.tools.openapi import document, operations, requests
from chatui.tools.remote import credentials
from chatui.tools.remote.exchange import Connections, HttpResponse
from chatui.tools.remote.names import tool_name
from chatui.tools.remote.offer import Listing, Offer, ServerError
from chatui.tools.remote.server_definition import OpenApiSpec
from chatui.tools.tool import ToolError, ToolUnusableError

log = logging.getLogger(__name__)

ERROR_CHARS = 500
_TEXT = ("text/plain", "text/csv", "text/markdown", "text/xml", "application/xml", "application/yaml", "text/yaml")


class OpenApiServer:
    """A ``Server`` that an OpenAPI document describes."""

    def __init__(self, spec: OpenApiSpec) -> None:
        self._spec = spec
        self._connections = Connections()

    async def listed(self) -> Listing:
        """See ``Server``. The document is read in a thread: it may be large."""
        return await asyncio.to_thread(listed, self._spec)

    async def call(self, offer: Offer, arguments: dict[str, Any]) -> Any:
        """See ``Server``."""
        spec = self._spec
        secret = credentials.secrets(spec.headers, spec.query)
        ask = requests.written(spec.url, offer, arguments, credentials.texts(spec.headers), credentials.texts(spec.query))
        answer = await self._connections.answer(ask)
        found = credentials.without(_read(answer), secret)
        if answer.status in (401, 403) or answer.status >= 500:
            log.warning("tool server %s answered with status %s", spec.name, answer.status)
        if answer.status >= 500:
            raise ServerError(f"the server answered with status {answer.status}")
        if answer.status >= 400:
            quoted = (found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))[:ERROR_CHARS]
            raise ToolError(f"The server answered with status {answer.status}: {quoted}" if quoted else f"Status {answer.status}.")
        return found

    async def close(self) -> None:
        """See ``Server``."""
        await self._connections.close()


def listed(spec: OpenApiSpec) -> Listing:
    """The operations that the operator named.

    Raises:
        ServerError: the document cannot be read.
    """
    read = document.read_document(spec.document)
    offers: dict[str, Offer] = {}
    problems: dict[str, str] = {}
    for operation_id in spec.operations:
        try:
            name = tool_name(spec.name, operation_id, {offer.name for offer in offers.values()})
            offers[operation_id] = operations.offered(read, spec, operation_id, name)
        except ToolUnusableError as error:
            problems[operation_id] = str(error)
    return Listing(offers=offers, problems=problems)


def _read(answer: HttpResponse) -> Any:
    """The server's response, as JSON. HTML pages are refused: a model cannot use them, and they may be sign-in pages."""
    text = answer.body.decode("utf-8", "replace")
    if answer.kind == "application/json" or answer.kind.endswith("+json"):
        try:
            return json.loads(text) if text.strip() and not answer.is_cut else text
        except (ValueError, RecursionError):
            return text
    if answer.kind in _TEXT or not text:
        return text
    if answer.status >= 400:
        return ""
    raise ServerError("the server's answer is neither JSON nor text")
