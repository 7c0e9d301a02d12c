"""The connections to one model server, on aiohttp's client.

A model server sends a chunk for each token, and aiohttp's parser is compiled. Between two reads of a body its connection is paused: what
arrives waits in the socket, and wakes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from io import BytesIO
from types import SimpleNamespace
from weakref import WeakKeyDictionary, WeakSet

import aiohttp
from yarl import URL

from chatui.backends.base import BackendError
from chatui.backends.failures import lost
from chatui.backends.route import Route

IDLE_SECONDS = 4.0
"""How long a connection is kept for another request: a second less than many servers keep it."""
_MAX_HEADER = 16 * 1024

_opened: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakSet[aiohttp.ClientSession]] = WeakKeyDictionary()
"""All sessions of an event loop, whoever opened them."""


async def close_all() -> None:
    """Close every connection of the running event loop, even one that a request uses. Only before the loop ends."""
    for session in list(_opened.get(asyncio.get_running_loop(), ())):
        await session.close()


class ModelServerConnections:
    """For one event loop. No HTTP/2, no redirects, no compression, no cookies, no proxy except the route's, and nothing from the
    environment. Closed, they open again for the next request.
    """

    def __init__(self, route: Route, connect: float) -> None:
        """``connect``: how long connecting may take, in seconds."""
        self._route = route
        self._proxy = route.through()
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect)
        self._session: aiohttp.ClientSession | None = None

    async def answer(self, method: str, address: URL, headers: Mapping[str, str], body: bytes = b"") -> UpstreamResponse:
        """Send a request, and read the head of its response. ``address``: in its normal form, with ``headers`` that say whose it is.

        Raises what ``in_time`` makes a BackendError of.
        """
        opened: list[bool] = []
        sent = headers
        if self._proxy and address.scheme == "http":
            sent = {**headers, **self._proxy.headers}  # there is no tunnel: the proxy reads the request itself
        try:
            response = await self._opened_session(address.scheme).request(
                method,
                address,
                headers=sent,
                data=BytesIO(body) if body else None,
                allow_redirects=False,
                proxy=self._proxy.address if self._proxy else None,
                proxy_headers=self._proxy.headers if self._proxy else None,
                timeout=self._timeout,
                trace_request_ctx=opened,
            )
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if opened:
                raise
            # A server may close an idle connection at the moment when it is reused.
            return await self.answer(method, address, headers, body)
        return UpstreamResponse(response)

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
            _opened.setdefault(asyncio.get_running_loop(), WeakSet()).add(self._session)
        return self._session

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _note_opened(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    context.trace_request_ctx.append(True)


class UpstreamResponse:
    """A response whose head has arrived."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        written = {name.lower(): ", ".join(response.headers.getall(name)) for name in response.headers}
        self.headers = {name: value.encode("utf-8", "replace").decode() for name, value in written.items()}
        """By their names in small letters."""
        self.cookies = [(name, value) for name, value in response.raw_headers if name.lower() == b"set-cookie" and value.isascii()]
        """The headers that set a cookie that can be sent back."""
        self.on_read: Callable[[bytes], None] = lambda _: None
        """Gets each piece of the body."""
        self._response = response
        self._loop = asyncio.get_running_loop()
        self._let_flow(False)

    @property
    def is_whole(self) -> bool:
        """Whether all of the body has arrived."""
        return self._response.connection is None

    async def read(self, at: float = 0.0) -> bytes:
        """Everything of the body that has arrived since it was last read, at least a byte; empty at its end. ``at``: the time of the loop
        from which on it may arrive.

        Nothing waits between two reads, so bytes flow only during one: a connection that breaks would take with it what nobody has read.
        """
        if self._flows == bool(at):
            self._let_flow(not at)
        later = self._loop.call_at(at, self._let_flow, True) if at else None
        piece = await self._response.content.readany()
        if later is not None and not self._flows:
            later.cancel()
        self.on_read(piece)
        return piece

    @contextmanager
    def limited(self, deadline: Callable[[], float], idle: float) -> Iterator[None]:
        """Reads within it raise a TimeoutError when it is later than ``deadline`` says then. That may move meanwhile, also to an earlier
        time, but to none that is less than ``idle`` seconds away.
        """
        self._deadline, self._idle = deadline, idle
        self._timer = self._loop.call_at(min(deadline(), self._loop.time() + idle), self._look)
        try:
            yield
        finally:
            self._timer.cancel()

    def _look(self) -> None:
        end, now = self._deadline(), self._loop.time()
        if end > now:
            self._timer = self._loop.call_at(min(end, now + self._idle), self._look)
        else:
            self._response.content.set_exception(TimeoutError())

    def close(self) -> None:
        """Close the connection, unless the whole body has arrived: then it may serve another request."""
        self._response.close()

    def _let_flow(self, flows: bool) -> None:
        self._flows, connection = flows, self._response.connection
        if connection is not None and (transport := connection.transport) is not None:
            (transport.resume_reading if flows else transport.pause_reading)()


@asynccontextmanager
async def in_time(deadline: float) -> AsyncIterator[None]:
    """Around requests and reads, never around a ``yield``: it would time, and cancel, the caller's work.

    ``deadline``: in the loop's time. Raises BackendError.
    """
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except FAULTS as error:
        raise lost_by(error) from error


def lost_by(error: Exception, *, has_begun: bool = False) -> BackendError:
    """The error that ends the sample when one of FAULTS was raised. ``has_begun``: whether events of the answer have come."""
    return lost(next(name for known, name in _NAMES if isinstance(error, known)), _reason(error), has_begun=has_begun)


_NAMES: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ConnectionTimeoutError, "ConnectTimeout"),
    (TimeoutError, "ReadTimeout"),
    (aiohttp.ClientHttpProxyError, "ConnectError"),
    (aiohttp.ClientConnectorCertificateError, "ConnectError"),
    (aiohttp.ClientConnectorError, "ConnectError"),
    (aiohttp.ClientOSError, "ReadError"),
    (ValueError, "LocalProtocolError"),
    (aiohttp.ClientError, "RemoteProtocolError"),
    (OSError, "ConnectError"),  # a file of the route's cannot be read
)
"""What a failure is called for operators. The first that fits counts."""
FAULTS = tuple(known for known, _ in _NAMES)
"""What requests and reads raise."""


def _reason(error: Exception) -> str:
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
