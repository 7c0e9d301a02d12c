"""An httpx transport for one model server, which reuses idle connections for a while.

httpx's own transport would wake several layers for each piece of an answer. Everything above the transport is httpx's: addresses, headers,
timeouts, errors.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import httpx

from chatui.backends.http1.exchange import Exchange, GoneError
from chatui.backends.http1.requests import FOR_PROXY, TARGET, RequestWriter
from chatui.backends.http1.route import DIRECT, Route
from chatui.backends.http1.streams import Stream, connected, connected_through

ONCE = "chatui.once"
"""The name of the httpx extension that is true for a request that must not be repeated, because the server may have executed it."""
MAX_IDLE = 20
IDLE_SECONDS = 5.0
LATE_SECONDS, MAX_LATE = 0.5, 5
"""A timeout that comes this many seconds late does not count, up to so many times."""


@dataclass(frozen=True, slots=True)
class _Idle:
    origin: tuple[str, str, int | None]
    stream: Stream
    since: float


class Transport(httpx.AsyncBaseTransport):
    """For one event loop, and best for one server: a request to another closes idle connections.

    No HTTP/2, no redirects, and no proxy except the route's.
    """

    def __init__(self, route: Route = DIRECT) -> None:
        self._route = route
        self._proxy = route.through()
        self._writer = RequestWriter()
        self._idle: deque[_Idle] = deque()
        self._context: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx."""
        origin = (request.url.scheme, request.url.host, request.url.port)
        if self._proxy and request.url.scheme == "http":
            # A proxy reads the destination of an unencrypted request from the request itself.
            request.extensions[TARGET] = str(request.url).encode("ascii")
            request.extensions[FOR_PROXY] = self._proxy.headers
        release = partial(self._take_back, origin)
        if stream := self._used_before(origin):
            if request.extensions.get(ONCE):
                return await Exchange(stream, request, release).response(self._writer)
            # A server may close an idle connection at the moment when it is reused.
            with contextlib.suppress(GoneError):
                return await Exchange(stream, request, release).response(self._writer)
        return await Exchange(await self._connected(request), request, release).response(self._writer)

    async def aclose(self) -> None:
        """See httpx. Connections in use close after their response."""
        while self._idle:
            self._idle.pop().stream.close()

    def _used_before(self, origin: tuple[str, str, int | None]) -> Stream | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            idle = self._idle.pop()
            if idle.origin == origin and now - idle.since < IDLE_SECONDS and idle.stream.is_usable():
                return idle.stream
            idle.stream.close()
        return None

    def _take_back(self, origin: tuple[str, str, int | None], stream: Stream | None) -> None:
        if stream is None:
            return
        self._idle.append(_Idle(origin, stream, asyncio.get_running_loop().time()))
        if len(self._idle) > MAX_IDLE:
            self._idle.popleft().stream.close()

    async def _connected(self, request: httpx.Request) -> Stream:
        timeout = request.extensions.get("timeout", {}).get("connect")
        try:
            if request.url.scheme == "https" and self._context is None:
                self._context = self._route.tls()
            return await _within(timeout, partial(self._opened, request))
        except TimeoutError as error:
            raise httpx.ConnectTimeout("no connection within the time for it") from error
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error

    async def _opened(self, request: httpx.Request) -> Stream:
        url = request.url
        host, port = url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
        context = self._context if url.scheme == "https" else None
        if self._proxy is None:
            return await connected(host, port, context)
        if context is not None:
            return await connected_through(self._proxy, host, port, context)
        return await connected(self._proxy.host, self._proxy.port, None)


async def _within(seconds: float | None, open_stream: Callable[[], Awaitable[Stream]]) -> Stream:
    """Open a stream within ``seconds``. Tried again if the time ran out while this process was too busy to notice the connection:
    a timer that fires late tells nothing about the server. Raises TimeoutError."""
    for _ in range(MAX_LATE):
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await open_stream()
        except TimeoutError:
            if asyncio.get_running_loop().time() - (limit.when() or 0) < LATE_SECONDS:
                raise
    raise TimeoutError
