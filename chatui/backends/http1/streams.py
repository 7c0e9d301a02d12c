"""A connection's byte stream: ``read`` returns everything that has arrived, which waits in the socket's buffer until then.

Arriving bytes wake a ``read`` that is waiting, and nothing else more than once. TLS has to be read as it arrives, and is decrypted into a
buffer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import Protocol

from chatui.backends.http1.route import Proxy

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
