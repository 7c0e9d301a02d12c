"""An httpx transport for one model server, on aiohttp's client. Everything above it is httpx's: addresses, headers, timeouts, errors.

A model server sends a chunk for each token. httpx's own transport makes an event of each, and wakes several layers for it, which would cost
more than everything else that is done with the token; aiohttp's parser is compiled. Between two reads of a body its connection is paused:
what arrives waits in the socket, and wakes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from types import SimpleNamespace

import aiohttp
import httpx
from yarl import URL

from chatui.backends.route import DIRECT, Route

READING = "chatui.reading"
"""The name of the httpx extension that holds a BodyReading."""
IDLE_SECONDS = 4.0
"""How long a connection is kept for another request: a second less than many servers keep it."""
_MAX_HEADER = 16 * 1024


@dataclass(frozen=True, slots=True)
class BodyReading:
    """How the body of a response is read.

    ``deadline``: returns until when more must arrive, in the loop's time; called before each read. ``pause``: waits before each read, so
    that bytes are read in batches; not called once the whole body has arrived.
    """

    deadline: Callable[[], float]
    pause: Callable[[], Awaitable[None]]


class Transport(httpx.AsyncBaseTransport):
    """For one event loop. No HTTP/2, no redirects, no compression, no cookies, and no proxy except the route's."""

    def __init__(self, route: Route = DIRECT) -> None:
        self._route = route
        self._proxy = route.through()
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _errors_of_httpx():
            response = await self._answer(request)
        content = _Content(response, request.extensions.get(READING))
        return httpx.Response(response.status, headers=list(response.raw_headers), stream=content)

    async def _answer(self, request: httpx.Request) -> aiohttp.ClientResponse:
        headers = [(name.decode("ascii"), value.decode("ascii")) for name, value in request.headers.raw]
        if self._proxy and request.url.scheme == "http":
            headers += self._proxy.headers.items()  # there is no tunnel: the proxy reads the request itself
        opened: list[bool] = []
        try:
            return await self._opened_session(request.url.scheme).request(
                request.method,
                URL(str(request.url.copy_with(userinfo=b"")), encoded=True),
                headers=headers,
                data=BytesIO(body) if (body := await request.aread()) else None,
                allow_redirects=False,
                proxy=self._proxy.address if self._proxy else None,
                proxy_headers=self._proxy.headers if self._proxy else None,
                timeout=aiohttp.ClientTimeout(total=None, connect=request.extensions.get("timeout", {}).get("connect")),
                trace_request_ctx=opened,
            )
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if opened:
                raise
        # A server may close an idle connection at the moment when it is reused.
        return await self._answer(request)

    def _opened_session(self, scheme: str) -> aiohttp.ClientSession:
        if self._session is None:
            tls = self._route.tls() if scheme == "https" else True
            tracing = aiohttp.TraceConfig()
            tracing.on_connection_create_start.append(_note_opened)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, ssl=tls),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                max_line_size=_MAX_HEADER,
                max_field_size=_MAX_HEADER,
                trace_configs=[tracing],
            )
        return self._session

    async def aclose(self) -> None:
        """See httpx. A later request opens new connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _note_opened(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    context.trace_request_ctx.append(True)


class _Content(httpx.AsyncByteStream):
    """The body. Each piece is everything that arrived since the previous one.

    Not a generator: readers stop at the last event of an answer, and the event loop would close an unfinished generator in a task of its
    own.
    """

    def __init__(self, response: aiohttp.ClientResponse, reading: BodyReading | None) -> None:
        self._response = response
        self._reading = reading
        self._let_flow(False)

    def __aiter__(self) -> _Content:
        return self

    async def __anext__(self) -> bytes:
        if self._reading and self._response.connection is not None:
            await self._reading.pause()
        with _errors_of_httpx():
            async with asyncio.timeout_at(self._reading.deadline() if self._reading else None):
                self._let_flow(True)
                piece = await self._response.content.readany()
                self._let_flow(False)
        if not piece:
            raise StopAsyncIteration
        return piece

    def _let_flow(self, flows: bool) -> None:
        """Bytes flow only during a read: a connection that breaks would take with it what nobody has read."""
        connection = self._response.connection  # None if the whole body has arrived
        if connection is not None and connection.transport is not None:
            (connection.transport.resume_reading if flows else connection.transport.pause_reading)()

    async def aclose(self) -> None:
        """Close the connection, unless the whole body has arrived: then it may serve another request."""
        self._response.close()


_ERRORS: tuple[tuple[type[Exception], type[httpx.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout),
    (TimeoutError, httpx.ReadTimeout),
    (aiohttp.ClientHttpProxyError, httpx.ConnectError),
    (aiohttp.ClientConnectorCertificateError, httpx.ConnectError),
    (aiohttp.ClientConnectorError, httpx.ConnectError),
    (aiohttp.ClientOSError, httpx.ReadError),
    (ValueError, httpx.LocalProtocolError),
    (aiohttp.ClientError, httpx.RemoteProtocolError),
    (OSError, httpx.ConnectError),  # a file of the route's cannot be read
)
"""The first that fits counts."""


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except tuple(known for known, _ in _ERRORS) as error:
        raised = next(raised for known, raised in _ERRORS if isinstance(error, known))
        raise raised(_said(error)) from error


def _said(error: Exception) -> str:
    """What was wrong, without the address that was asked, which may hold a key."""
    match error:
        case aiohttp.ClientHttpProxyError(status=status):
            return "the proxy wants another name or password" if status == 407 else "the proxy refused to connect"
        case aiohttp.ClientConnectorCertificateError(certificate_error=cause) | aiohttp.ClientConnectorError(os_error=cause):
            return str(cause)
        case aiohttp.ClientResponseError(message=message):
            return message
        case TimeoutError():
            return "nothing came within the time for it"
        case ValueError():
            return "the request is invalid"
    return str(error)
