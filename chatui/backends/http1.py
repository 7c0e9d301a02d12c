"""An httpx transport for one model server, which reuses idle connections for a while.

httpx's own transport would wake several layers for each piece of an answer. Everything above the transport is httpx's: addresses, headers,
timeouts, errors.

Bodies are decoded here: chunked, of a known length, or until the server closes. h11 does this as well, with an event for each chunk. A
model server sends a chunk for each token, and those events would cost more than everything else that is done with the token. So h11 only
reads the head of a response, and the body is read at frame rate. h11 also validates the heads of requests, so that no header can end early
or begin another request.

``read`` of a connection returns everything that has arrived, which waits in the socket's buffer until then. Arriving bytes wake a ``read``
that is waiting, and nothing else more than once. TLS has to be read as it arrives, and is decrypted into a buffer.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import h11
import httpx

from chatui.backends.route import DIRECT, Proxy, Route

_MAX_LINE = 16 * 1024
"""The longest line between two chunks, and all trailers together, in bytes."""
# Possessive: otherwise, a line of spaces without a carriage return would be tried from each of them, for seconds.
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*+(?:;[^\r\n]*+)?\r\n")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\x00]*\r\n")


class BrokenBodyError(ValueError):
    """The server sent an invalid body of this kind."""


class Body(Protocol):
    """``feed`` takes bytes, however they are split, and returns those that belong to the body. ``is_done``: it is complete."""

    is_done: bool
    rest: bytes
    """Bytes after the end."""

    def feed(self, data: bytes) -> bytes:
        """More bytes; empty if the server has closed.

        Raises:
            BrokenBodyError: it cannot be read.
        """
        ...


class UntilClosed:
    """A body that ends when the connection closes."""

    is_done = False
    rest = b""

    def feed(self, data: bytes) -> bytes:
        """See ``Body``."""
        self.is_done = not data
        return data


class Sized:
    """A body of known length."""

    rest = b""

    def __init__(self, size: int) -> None:
        self._left = size
        self.is_done = not size

    def feed(self, data: bytes) -> bytes:
        """See ``Body``."""
        if not data and not self.is_done:
            raise BrokenBodyError("peer closed connection without sending complete message body")
        taken, self.rest = data[: self._left], data[self._left :]
        self._left -= len(taken)
        self.is_done = not self._left
        return taken


class Chunked:
    """Chunks, each preceded by its size, then trailers, which are checked and dropped."""

    def __init__(self) -> None:
        self.is_done = False
        self.rest = b""
        self._buffer = b""
        self._left = 0
        self._is_after_chunk = self._is_in_trailers = False
        self._trailers = 0

    def feed(self, data: bytes) -> bytes:
        """See ``Body``."""
        if not data and not self.is_done:
            raise BrokenBodyError("peer closed connection without sending complete message body (incomplete chunked read)")
        data, self._buffer = self._buffer + data, b""
        parts: list[bytes] = []
        at = 0
        while at < len(data) and not self.is_done:
            at = self._chunk(data, at, parts) if self._left else self._between(data, at)
        return b"".join(parts)

    def _chunk(self, data: bytes, at: int, parts: list[bytes]) -> int:
        part = data[at : at + self._left]
        parts.append(part)
        self._left -= len(part)
        self._is_after_chunk = not self._left
        return at + len(part)

    def _between(self, data: bytes, at: int) -> int:
        """Parse the text between two chunks, from ``at``; returns where it ends."""
        end = data.find(b"\n", at) + 1
        if not end:
            self._buffer = data[at:]
            if len(self._buffer) > _MAX_LINE:
                raise BrokenBodyError("a line between two chunks is too long")
            return len(data)
        _require(end - at <= _MAX_LINE)
        line = data[at:end]
        if self._is_after_chunk:
            _require(line == b"\r\n")
            self._is_after_chunk = False
        elif self._is_in_trailers:
            self._trailer(line)
            self.rest = data[end:] if self.is_done else b""
        else:
            size = _SIZE.fullmatch(line)
            _require(size is not None)
            self._left = int(size[1], 16) if size else 0
            self._is_in_trailers = not self._left
        return end

    def _trailer(self, line: bytes) -> None:
        self._trailers += len(line)
        self.is_done = line == b"\r\n"
        _require(self.is_done or (_TRAILER.fullmatch(line) is not None and self._trailers <= _MAX_LINE))


def _require(condition: bool) -> None:
    if not condition:
        raise BrokenBodyError("illegal chunk header")


TARGET = "chatui.target"
"""The name of the httpx extension that holds what to write instead of the path of a request: for a proxy, the whole address."""
FOR_PROXY = "chatui.for_proxy"
"""The name of the httpx extension that holds headers for a proxy. They are not part of the request's headers, which recordings contain."""


def written(request: httpx.Request, body: bytes) -> bytes:
    """The request with its ``body``.

    Raises:
        httpx.LocalProtocolError: it is invalid.
    """
    connection = h11.Connection(h11.CLIENT)
    target = request.extensions.get(TARGET, request.url.raw_path)
    headers = [*request.headers.raw, *request.extensions.get(FOR_PROXY, ())]
    try:
        events = (h11.Request(method=request.method, target=target, headers=headers), h11.Data(body), h11.EndOfMessage())
        return b"".join(connection.send(event) or b"" for event in events)
    except h11.LocalProtocolError as error:
        raise httpx.LocalProtocolError(str(error)) from error


MAX_AT_ONCE = 64 * 1024
HAPPY_EYEBALLS_SECONDS = 0.25
"""After this long without an answer, the next address of a host is tried, too (RFC 8305)."""


class Stream(Protocol):
    """A connection to a server. Always ``close`` it."""

    async def read(self, deadline: float | None) -> bytes:
        """The bytes that have arrived, at most MAX_AT_ONCE; empty if the server has closed.

        Raises:
            TimeoutError: nothing arrived before ``deadline``, in the loop's time.
            OSError: the connection is broken.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            OSError: the connection is broken.
        """
        ...

    def is_usable(self) -> bool:
        """Whether an idle connection can be used again: the server has neither closed it nor sent anything."""
        ...

    def close(self) -> None:
        """Close it at once."""
        ...


async def connected(host: str, port: int, context: ssl.SSLContext | None) -> Stream:
    """A new connection, with TLS if there is a ``context``.

    Raises:
        OSError: no address of the host answers, or its certificate is invalid.
    """
    if context is not None:
        reader, writer = await asyncio.open_connection(
            host, port, ssl=context, server_hostname=host, happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS
        )
        return _Tls(reader, writer)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, host, port, happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS)
    try:
        # The event loop's transport would read bytes as soon as they arrive, so the socket is used without it.
        return _Plain(transport.get_extra_info("socket").dup())
    finally:
        transport.abort()


async def connected_through(proxy: Proxy, host: str, port: int, context: ssl.SSLContext) -> Stream:
    """A connection with TLS to a server, through a tunnel of the HTTP ``proxy`` (RFC 9110, 9.3.6), which sees only the server's name.

    Raises:
        OSError: the proxy does not answer or refuses, or the server's certificate is invalid.
    """
    reader, writer = await asyncio.open_connection(proxy.host, proxy.port, happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS)
    try:
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {place} HTTP/1.1".encode("ascii"), f"Host: {place}".encode("ascii")]
        lines += [name + b": " + value for name, value in proxy.headers]
        writer.write(b"\r\n".join([*lines, b"", b""]))
        try:
            status, _, _ = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise OSError("the proxy did not answer") from None
        code = status.split(b" ")[1:2]
        if code == [b"407"]:
            raise OSError("the proxy wants another name or password")
        if not code or not code[0].startswith(b"2"):
            raise OSError("the proxy refused to connect")
        await writer.start_tls(context, server_hostname=host)
        stream = _Tls(reader, writer)
        # Bytes from a proxy before TLS would be read as the server's: a server sends nothing before a request.
        if not stream.is_usable():
            raise OSError("the proxy spoke in the place of the server")
    except BaseException:
        writer.transport.abort()
        raise
    return stream


class _Plain:
    """The event loop watches the socket from the first read that has to wait until bytes arrive that no read waits for.

    To begin and to end that for each read would be two system calls per read. Bytes that arrive while a read is cancelled may be lost.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._descriptor = connection.fileno()
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[bytes] | None = None
        self._is_watched = False

    async def read(self, deadline: float | None) -> bytes:
        try:
            return self._socket.recv(MAX_AT_ONCE)
        except BlockingIOError:
            self._watch()
        waiting: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting = waiting
        timer = None if deadline is None else self._loop.call_at(deadline, _time_out, waiting)
        try:
            return await waiting
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()

    def _take(self) -> None:
        waiting = self._waiting
        if waiting is None or waiting.done():
            self._unwatch()
            return
        # Read here: until the waiting task runs, the event loop would find the same bytes again.
        try:
            waiting.set_result(self._socket.recv(MAX_AT_ONCE))
        except BlockingIOError:
            pass
        except OSError as error:
            waiting.set_exception(error)

    def _watch(self) -> None:
        if not self._is_watched:
            self._loop.add_reader(self._descriptor, self._take)
            self._is_watched = True

    def _unwatch(self) -> None:
        if self._is_watched:
            self._loop.remove_reader(self._descriptor)
            self._is_watched = False

    async def write(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._socket, data)

    def is_usable(self) -> bool:
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._unwatch()
        self._socket.close()


def _time_out(waiting: asyncio.Future[bytes]) -> None:
    if not waiting.done():
        waiting.set_exception(TimeoutError())


class _Tls:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, deadline: float | None) -> bytes:
        async with asyncio.timeout_at(deadline):
            return await self._reader.read(MAX_AT_ONCE)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def is_usable(self) -> bool:
        # Nobody reads an idle connection, so anything that arrived would be in this buffer.
        return not (self._reader.at_eof() or self._writer.is_closing() or self._reader._buffer)  # type: ignore[attr-defined]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._writer.transport.abort()


READING = "chatui.reading"
"""The name of the httpx extension that holds a Reading."""
_MAX_HEAD = 100 * 1024
_MAX_INTERIM = 20
"""How many responses with a status below 200 may precede the final one."""
_ANY_REQUEST = h11.Request(method="GET", target="/", headers=[("Host", "any")])
"""What h11 is told of the request, which ``written`` writes: it reads the heads of all responses alike, but only after a request."""
_AT_ONCE_AT_FIRST = 3
"""Reads of a body before the first pause: a server may send its first words in several pieces."""


class GoneError(httpx.RemoteProtocolError):
    """The server closed the connection without a byte of a response."""


@dataclass(frozen=True, slots=True)
class BodyReading:
    """How the body of a response is read.

    ``deadline``: returns until when more must arrive, in the loop's time; called whenever nothing has. ``pause``: waits between two reads,
    so that bytes are read in batches.
    """

    deadline: Callable[[], float]
    pause: Callable[[], Awaitable[None]]


class HttpExchange:
    """Call ``response`` once, then iterate over its body."""

    def __init__(self, stream: Stream, request: httpx.Request, released: Callable[[Stream | None], None]) -> None:
        """``released`` is called once, at the end, with the connection if it is reusable."""
        self._stream = stream
        self._request = request
        self._released: Callable[[Stream | None], None] | None = released
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        self._h11.send(_ANY_REQUEST)
        self._is_kept_alive = self._has_received = False

    async def response(self) -> httpx.Response:
        """Send the request, and read the head of the response."""
        try:
            data = written(self._request, await self._request.aread())
            try:
                await self._stream.write(data)
            except OSError:
                # A server may answer and close before it has read everything.
                self._h11.send_failed()
            head, first_bytes = await self._head()
        except BaseException:
            self.close()
            raise
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Content(self, _body_of(head, self._request), first_bytes, self._request.extensions.get(READING)),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )

    async def _head(self) -> tuple[h11.Response, bytes]:
        """The head, and the part of the body that arrived with it."""
        interim = 0
        self._h11.receive_data(await self._more_of_head())
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from error
            if isinstance(event, h11.Response):
                self._is_kept_alive = event.http_version == b"1.1" and _is_lasting(event)
                return event, self._h11.trailing_data[0]
            if isinstance(event, h11.InformationalResponse):
                interim += 1
                if interim > _MAX_INTERIM:
                    raise httpx.RemoteProtocolError("too many interim responses")
                continue
            self._h11.receive_data(await self._more_of_head())

    async def _more_of_head(self) -> bytes:
        is_first, self._has_received = not self._has_received, True
        try:
            data = await self.read(None)
        except httpx.ReadError as error:
            if is_first:
                raise GoneError(str(error)) from error
            raise
        if not data:
            raise (GoneError if is_first else httpx.RemoteProtocolError)("Server disconnected without sending a response.")
        return data

    async def read(self, deadline: float | None) -> bytes:
        """More bytes, as ``Stream.read``; failures are httpx's."""
        try:
            return await self._stream.read(deadline)
        except TimeoutError as error:
            raise httpx.ReadTimeout("nothing came for too long") from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error

    def end(self, *, is_whole: bool) -> None:
        """The response is over; if it is complete, the connection may serve another request."""
        released, self._released = self._released, None
        if released is None:
            return
        is_reusable = is_whole and self._is_kept_alive
        if not is_reusable:
            self._stream.close()
        released(self._stream if is_reusable else None)

    def close(self) -> None:
        """Close the connection."""
        self.end(is_whole=False)


class _Content(httpx.AsyncByteStream):
    """The body.

    Each piece is everything that arrived since the previous one. Not a generator: readers stop at the last event of an answer, and the
    event loop would close an unfinished generator in a task of its own.
    """

    def __init__(self, exchange: HttpExchange, body: Body, first_bytes: bytes, reading: BodyReading | None) -> None:
        self._exchange = exchange
        self._body = body
        self._first_bytes = first_bytes
        self._reading = reading
        self._reads = 0
        self._was_full = self._is_full = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece, self._first_bytes = self._taken(self._first_bytes) if self._first_bytes else b"", b""
            while not piece and not self._body.is_done:
                piece = self._taken(await self._more())
        except BaseException:
            await self.aclose()
            raise
        if not piece:
            await self.aclose()
            raise StopAsyncIteration
        return piece

    async def _more(self) -> bytes:
        if self._reads >= _AT_ONCE_AT_FIRST:
            # If a read is full, more bytes are waiting already; if two are, it is a flood.
            if self._reading and (self._was_full or not self._is_full):
                await self._reading.pause()
            else:
                await asyncio.sleep(0)  # a read that finds bytes does not yield: without this, a flood would block the event loop
        data = await self._exchange.read(self._deadline())
        self._reads += 1
        self._was_full, self._is_full = self._is_full, len(data) >= MAX_AT_ONCE
        return data

    async def aclose(self) -> None:
        self._exchange.end(is_whole=self._body.is_done and not self._body.rest and not self._first_bytes)

    def _deadline(self) -> float | None:
        """While bytes keep arriving, but never an event, no read would notice the timeout."""
        deadline = self._reading.deadline() if self._reading else None
        if deadline is not None and asyncio.get_running_loop().time() > deadline:
            raise httpx.ReadTimeout("what was waited for did not come")
        return deadline

    def _taken(self, data: bytes) -> bytes:
        try:
            return self._body.feed(data)
        except BrokenBodyError as error:
            raise httpx.RemoteProtocolError(str(error)) from error


def _body_of(head: h11.Response, request: httpx.Request) -> Body:
    """The reader for a response's body (RFC 9112). h11 has refused contradictory heads."""
    headers = dict(head.headers)
    if request.method == "HEAD" or head.status_code in (204, 304):
        return Sized(0)
    if b"transfer-encoding" in headers:
        return Chunked()
    return Sized(int(headers[b"content-length"])) if b"content-length" in headers else UntilClosed()


def _is_lasting(head: h11.Response) -> bool:
    """Whether the server keeps the connection open after this response."""
    return all(value.strip().lower() != b"close" for name, values in head.headers if name == b"connection" for value in values.split(b","))


ONCE = "chatui.once"
"""The name of the httpx extension that is true for a request that must not be repeated, because the server may have executed it."""
MAX_IDLE = 20
IDLE_SECONDS = 5.0


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
                return await HttpExchange(stream, request, release).response()
            # A server may close an idle connection at the moment when it is reused.
            with contextlib.suppress(GoneError):
                return await HttpExchange(stream, request, release).response()
        return await HttpExchange(await self._connected(request), request, release).response()

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
            async with asyncio.timeout(timeout):
                return await self._opened(request)
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
