"""A server that an OpenAPI document describes: lists the operations that the operator named, and calls them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

from chatui.tools.file_access import EndedSession
from chatui.tools.openapi import answers
from chatui.tools.openapi.documents import read_document
from chatui.tools.openapi.operations import offered
from chatui.tools.openapi.requests import written
from chatui.tools.remote import definition as credentials
from chatui.tools.remote.definition import OpenApiSpec
from chatui.tools.remote.exchange import FORBIDDEN, HttpRequest, StatusError, ToolServerConnections, whole
from chatui.tools.remote.exchange import MAX_BYTES as MAX_ANSWER_BYTES
from chatui.tools.remote.offers import Listing, Moment, ServerError, ToolOffer, listing
from chatui.tools.replies import in_middle
from chatui.tools.tool import CallingTurn, ToolError

log = logging.getLogger(__name__)

ERROR_CHARS = 800


class OpenApiServer:
    """A server that an OpenAPI document describes, as ``McpServer``."""

    def __init__(self, spec: OpenApiSpec) -> None:
        self._spec = spec
        self._connections = ToolServerConnections()
        self._listing: tuple[tuple[int, int, int], Listing] | None = None

    async def listed(self) -> Listing:
        """What the document describes now. It may be large: it is read in a thread, and only if the file has changed."""
        return await asyncio.to_thread(self._listed)

    def _listed(self) -> Listing:
        try:
            status = self._spec.document.stat()
        except OSError as error:
            raise ServerError(f"the document cannot be read ({type(error).__name__})") from None
        stamp = status.st_mtime_ns, status.st_ino, status.st_size
        if self._listing is None or self._listing[0] != stamp:
            self._listing = stamp, listed(self._spec)
        return self._listing[1]

    async def call(self, offer: ToolOffer, arguments: dict[str, Any], turn: CallingTurn) -> Any:
        """There are no sessions: neither cookies nor anything else of one call is there in the next."""
        spec = self._spec
        secret = credentials.secrets(spec.headers, spec.query)
        ask = written(spec.url, offer, arguments, credentials.headers(spec.headers), credentials.texts(spec.query))
        async with self._connections.opened(ask) as response:
            status = response.status_code
            body, is_cut = await whole(response, MAX_ANSWER_BYTES)
        if status == 401 and spec.oauth:
            raise StatusError.of(response)
        # A page is read in a process of its own, which may take a while.
        found = credentials.without(await asyncio.to_thread(answers.read, response.headers, body, is_cut=is_cut), secret)
        headers = credentials.without(answers.headers_for_model(response.headers), secret)
        if status < 400:
            return answers.with_headers(found, status, headers)
        if status in FORBIDDEN:
            log.warning("tool server %s: the server answered with status %s", spec.name, status)
        answer = in_middle(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False), ERROR_CHARS)
        words = ", ".join(f"{name}: {value}" for name, value in headers.items())
        answer = f"{f'({words}) ' if words else ''}{answer}".strip()
        if status >= 500:
            raise StatusError(status, server_words=answer)
        raise ToolError(f"The server answered with status {status}{f': {answer}' if answer else '.'}")

    async def ping(self, turn: CallingTurn) -> None:
        """Ask whether the server answers: for nothing, and without credentials, so that a refusal is an answer, too."""
        try:
            async with self._connections.opened(HttpRequest("HEAD", self._spec.url, {})) as response:
                if response.status_code >= 500:
                    raise StatusError(response.status_code)
        except ServerError as error:
            if error.moment is not Moment.ANSWERED:
                raise

    async def end(self, ended: Sequence[EndedSession]) -> None:
        """There are none."""

    async def close(self) -> None:
        await self._connections.close()


def listed(spec: OpenApiSpec) -> Listing:
    """The operations that the operator named. Raises as ``read_document``."""
    document = read_document(spec.document)
    return listing(spec.name, spec.selected, lambda operation_id, name: offered(document, spec, operation_id, name))
