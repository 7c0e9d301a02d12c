"""MCP over streamable HTTP: each request is one POST, answered with JSON or a short event stream.

Calls do not share connections: a reset affects only one call. Streams initiated by the server are never requested. Each request names the
session that it belongs to; the product's own (for listings) is in memory, those of conversations and people are stored.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import re
from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from chatui.backends.sse import Decoder
from chatui.tools.mcp import messages
from chatui.tools.mcp.beside import NOBODY, Beside
from chatui.tools.mcp.messages import KeptSession, ServerRefusedError
from chatui.tools.remote.exchange import FORBIDDEN, MAX_BYTES, HttpRequest, StatusError, ToolServerConnections, kind_of, pieces, whole
from chatui.tools.remote.offers import ResponseTooLongError, ServerError, without_arguments

MAX_STREAM_BYTES = 2 * MAX_BYTES
"""The longest stream. Servers often send a result twice, as text and as JSON."""
MAX_SERVER_REQUESTS = 20
GOODBYE_SECONDS = 2.0
_SESSION = re.compile(r"[\x21-\x7e]{1,1000}")
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_OK = 200
_GONE = 404
_WRONG = 400
_NO_SUCH_ADDRESS = (400, 404, 405)
OLDER_SECONDS = 5.0
MAX_FIRST_BYTES = 4096
_OLDER = (
    "the address is one of the older transport HTTP+SSE (2024-11-05), which is not supported: give the address of its streamable HTTP,"
    " which often ends in /mcp"
)


@dataclass(frozen=True, slots=True)
class _Protocol:
    """The protocol generation of a server. ``session``: the id of our session, if it has sessions."""

    version: str
    session: str = field(default="", repr=False)

    @property
    def is_stateless(self) -> bool:
        return self.version == messages.STATELESS

    @property
    def stored(self) -> str:
        """The session as it is stored, which ``_read`` reads."""
        return f"{self.version} {self.session}"


def _read(stored: str | None) -> _Protocol | None:
    version, _, session = (stored or "").partition(" ")
    return _Protocol(version, session) if version in messages.SPOKEN and _SESSION.fullmatch(session) else None


class HttpPeer:
    """An MCP server over HTTP."""

    def __init__(self, url: str, headers: Any, *, asks: bool = False, is_public: bool = False) -> None:
        """``headers``: a function that returns the operator's headers. It is called for each request, since credentials may change.
        ``asks``: see ``messages.capabilities``. ``is_public``: staff entered the address, see ``ToolServerConnections``."""
        self._url = url
        self._asks = asks
        self._headers = headers
        self._connections = ToolServerConnections(url if is_public else "")
        self._own = KeptSession()
        self._without_sessions: _Protocol | None = None
        self._capabilities: Mapping[str, Any] | None = None
        self._numbers = itertools.count(1)
        self._background: set[asyncio.Task[None]] = set()

    @property
    def run(self) -> str:
        """The product's own session; empty if there is none."""
        return self._own.session or ""

    async def ask(self, method: str, params: Mapping[str, Any], kept: KeptSession | None = None, beside: Beside = NOBODY) -> dict[str, Any]:
        """The result of a request. ``kept``: where its session is stored; None for the product's own. ``beside``: what is done with what
        comes beside it.

        Raises:
            ServerRefusedError: the server responded with an error.
            ServerError: the server did not respond.
        """
        kept = kept or self._own
        gone: _Protocol | None = None
        while True:
            protocol = await self._negotiated(kept, gone)
            try:
                return await self._asked(protocol, method, params, beside)
            except (StatusError, ServerRefusedError) as error:
                if gone or not protocol.session or not isinstance(error, StatusError) or error.status != _GONE:
                    await self._forget_if_gone(kept, protocol, error.status)
                    raise
            # The session has expired, so nothing was executed: retry once with a new one.
            gone = protocol

    async def capabilities(self) -> Mapping[str, Any] | None:
        """See ``messages.capabilities_of``. Raises ServerError."""
        await self._negotiated(self._own)
        return self._capabilities

    async def ping(self) -> None:
        """See ``McpServer``. It is asked in the product's own session. A server that refuses has answered, too."""
        is_stateless = (await self._negotiated(self._own)).is_stateless
        try:
            with suppress(ServerRefusedError):
                await self.ask("server/discover" if is_stateless else "ping", {})
        except StatusError as error:
            if error.status >= 500:
                raise

    async def _forget_if_gone(self, kept: KeptSession, protocol: _Protocol, status: int) -> None:
        """After a call that failed with this status: discard what was negotiated, if the server may not know it any more. A failure on the
        server's side says nothing about the session, whose state would be lost."""
        if not protocol.session:
            if status != _OK and self._without_sessions is protocol:
                self._without_sessions = None
        elif status == _GONE or (status == _WRONG and not await self._is_known(protocol)):
            await kept.replace(protocol.stored, "")

    async def _is_known(self, protocol: _Protocol) -> bool:
        """Whether the server still knows the session. Some answer 400 to a session that they do not know, as to a call that is wrong."""
        try:
            await self._asked(protocol, "ping", {})
        except (StatusError, ServerRefusedError) as error:
            # A refusal with status 404 is a StatusError.
            return error.status not in (_WRONG, _GONE)
        except ServerError:
            pass
        return True

    async def end(self, stored: str) -> None:
        """Tell the server that a stored session is over, if there is one. Never raises."""
        if protocol := _read(stored):
            with suppress(ServerError, TimeoutError):
                headers = {**self._headers(), "Mcp-Session-Id": protocol.session, "MCP-Protocol-Version": protocol.version}
                async with asyncio.timeout(GOODBYE_SECONDS), self._connections.opened(HttpRequest("DELETE", self._url, headers)):
                    pass

    async def close(self) -> None:
        """End the product's own session, if there is one."""
        await self.end(self.run)
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._connections.close()

    async def _negotiated(self, kept: KeptSession, gone: _Protocol | None = None) -> _Protocol:
        """The protocol, with the session to use. ``gone``: one that the server does not know any more."""
        async with kept.lock:
            if self._without_sessions is not None:
                return self._without_sessions
            before = await kept.last()
            if (found := _read(before)) is not None and (gone is None or found != gone):
                return found
            with without_arguments():
                made = await self._discovered() or await self._handshake()
            if not made.session:
                self._without_sessions = made
                return made
            return await self._stored(kept, before, made)

    async def _stored(self, kept: KeptSession, before: str | None, made: _Protocol) -> _Protocol:
        """The session in force after this one was made: perhaps that of another process, which was faster."""
        now = ""
        try:
            now = await kept.replace(before, made.stored)
        finally:
            if now != made.stored:
                self._in_background(self.end(made.stored))
        if (found := _read(now)) is None:
            raise ServerError("the session has ended")
        return found

    async def _discovered(self) -> _Protocol | None:
        """The newer generation; None if the server does not support it.

        Raises:
            ServerError: the server is unreachable, or does not accept our credentials.
        """
        protocol = _Protocol(messages.STATELESS)
        try:
            found = await self._asked(protocol, "server/discover", {})
        except StatusError as error:
            if error.status in FORBIDDEN:
                raise
            return None
        except ServerRefusedError:
            return None
        versions, self._capabilities = found.get("supportedVersions"), messages.capabilities_of(found)
        return protocol if isinstance(versions, list) and messages.STATELESS in versions else None

    async def _handshake(self) -> _Protocol:
        message = messages.request(next(self._numbers), "initialize", messages.hello(asks=self._asks))
        try:
            result, headers = await self._exchanged(message, _Protocol(""))
        except StatusError as error:
            if error.status in _NO_SUCH_ADDRESS and await self._is_older():
                raise ServerError(_OLDER) from None
            raise
        session = headers.get("mcp-session-id", "")
        if session and not _SESSION.fullmatch(session):
            raise ServerError("the server sent an invalid session id")
        protocol, self._capabilities = _Protocol(messages.agreed(result), session), messages.capabilities_of(result)
        await self._tell(protocol, messages.INITIALIZED)
        return protocol

    async def _is_older(self) -> bool:
        """Whether the address is one of the transport with two addresses, whose stream begins by naming the other one."""
        headers = {**self._headers(), "Accept": "text/event-stream"}
        with suppress(ServerError, TimeoutError):
            async with asyncio.timeout(OLDER_SECONDS), self._connections.opened(HttpRequest("GET", self._url, headers)) as response:
                if response.status_code == _OK and kind_of(response) == "text/event-stream":
                    decoder = Decoder(MAX_STREAM_BYTES)
                    async with aclosing(pieces(response)) as read:
                        async for piece in read:
                            for event in decoder.feed(piece[:MAX_FIRST_BYTES]):
                                return event.name == "endpoint"
        return False

    async def _asked(self, protocol: _Protocol, method: str, params: Mapping[str, Any], beside: Beside = NOBODY) -> dict[str, Any]:
        number = next(self._numbers)
        sent = messages.stateless(params, asks=self._asks) if protocol.is_stateless else params
        message = messages.request(number, method, sent, wants_progress=beside.wants_progress)
        try:
            result, _ = await self._exchanged(message, protocol, beside)
            return result
        except asyncio.CancelledError:
            if not protocol.is_stateless:
                # In the older generation, closing the stream does not cancel a request, as it does in the newer one.
                self._in_background(self._tell_cancelled(protocol, number))
            raise

    async def _exchanged(
        self, message: Mapping[str, Any], protocol: _Protocol, beside: Beside = NOBODY
    ) -> tuple[dict[str, Any], httpx.Headers]:
        """The result of a request, and the headers of its response."""
        async with self._connections.opened(self._ask(message, protocol)) as response:
            if response.status_code == _OK and kind_of(response) == "text/event-stream":
                return await self._streamed(response, message["id"], protocol, beside), response.headers
            body, is_cut = await whole(response, MAX_STREAM_BYTES)
            if is_cut:
                raise ResponseTooLongError("the server's answer is too long")
            if response.status_code != _OK and not (kind_of(response) == "application/json" and b'"error"' in body):
                raise StatusError.of(response)
            if response.status_code in (*FORBIDDEN, _GONE) or response.status_code >= 500:
                raise StatusError.of(response)
            if kind_of(response) != "application/json":
                raise ServerError("the server's answer is not JSON")
            found = messages.read(body)
            # An error that occurred before the request was parsed has no id, or a word instead: never that of another call.
            if not messages.is_answer(found, message["id"]) and not ("error" in found and type(found.get("id")) is not int):
                raise ServerError("the server's answer belongs to another call")
            return messages.result_of(found, response.status_code), response.headers

    async def _streamed(self, response: httpx.Response, number: int, protocol: _Protocol, beside: Beside) -> dict[str, Any]:
        # The stream is read on while a person decides about a request of the server's.
        asked: list[asyncio.Task[None] | None] = []
        try:
            return await self._read_stream(response, number, protocol, beside, asked)
        finally:
            for each in filter(None, asked):
                each.cancel()

    async def _read_stream(
        self, response: httpx.Response, number: int, protocol: _Protocol, beside: Beside, asked: list[asyncio.Task[None] | None]
    ) -> dict[str, Any]:
        decoder, size = Decoder(MAX_STREAM_BYTES), 0  # nothing in the stream is longer than the stream
        async with aclosing(pieces(response)) as read:
            async for piece in read:
                size += len(piece)
                if size > MAX_STREAM_BYTES:
                    break
                for event in decoder.feed(piece):
                    if event.name not in ("", "message") or not event.data:
                        continue
                    found = messages.read(event.data)
                    if messages.is_answer(found, number):
                        return messages.result_of(found)
                    self._take(found, protocol, beside, asked)
        if size > MAX_STREAM_BYTES:
            raise ResponseTooLongError("the server's answer is too long")
        raise ServerError("the server did not answer the call")

    def _take(self, found: Mapping[str, Any], protocol: _Protocol, beside: Beside, asked: list[asyncio.Task[None] | None]) -> None:
        """Take what comes before the answer. ``asked``: for each request of the server's, the task that waits for the person, or None."""
        if messages.is_request(found):
            if len(asked) == MAX_SERVER_REQUESTS or protocol.is_stateless:
                raise ServerError("the server sent requests instead of an answer")
            response = beside.response(found)
            if isinstance(response, Mapping):
                self._in_background(self._respond(protocol, response))
            asked.append(None if isinstance(response, Mapping) else self._in_background(self._respond_later(protocol, response)))
        elif messages.is_notice(found):
            beside.notice(found)

    async def _respond_later(self, protocol: _Protocol, response: Awaitable[Mapping[str, Any]]) -> None:
        self._in_background(self._respond(protocol, await response))

    async def _respond(self, protocol: _Protocol, response: Mapping[str, Any]) -> None:
        with suppress(ServerError):  # if it does not arrive, the answer will not come either
            await self._tell(protocol, response)

    async def _tell(self, protocol: _Protocol, message: Mapping[str, Any]) -> None:
        """Send a message that needs no answer: what the server answers is not read, and its refusal is ignored."""
        with suppress(StatusError):
            async with self._connections.opened(self._ask(message, protocol)):
                pass

    async def _tell_cancelled(self, protocol: _Protocol, number: int) -> None:
        with suppress(ServerError, TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._tell(protocol, messages.cancelled(number))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _ask(self, message: Mapping[str, Any], protocol: _Protocol) -> HttpRequest:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if protocol.version:
            headers["MCP-Protocol-Version"] = protocol.version
        if protocol.session:
            headers["Mcp-Session-Id"] = protocol.session
        if protocol.is_stateless:
            headers["Mcp-Method"] = message["method"]
            if named := message["params"].get("name") or message["params"].get("uri"):
                headers["Mcp-Name"] = _header(named)
        return HttpRequest("POST", self._url, {**self._headers(), **headers}, json.dumps(message).encode())


def _header(value: str) -> str:
    """The value of a header. If it has characters that headers cannot have, it is encoded in base64, as the protocol requires."""
    if _PLAIN.fullmatch(value) and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="
