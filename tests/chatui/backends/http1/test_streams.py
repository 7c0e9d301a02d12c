"""Reading from a connection: each byte is read once, however reads wait and end, and the event loop watches a socket only while it must."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from chatui.backends.http1 import Stream, connected

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def connection() -> AsyncIterator[tuple[Stream, socket.socket]]:
    """A connection, and the server's end of it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
        stream = await connected(host, port, None)
        server, _ = listening.accept()
        with server:
            try:
                yield stream, server
            finally:
                stream.close()


class Watched:
    """Counts how often the event loop begins and ends to watch a socket."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = self.ended = 0
        loop = asyncio.get_running_loop()
        add, remove = loop.add_reader, loop.remove_reader

        def added(descriptor: int, callback: Callable[[], None]) -> None:
            self.begun += 1
            add(descriptor, callback)

        def removed(descriptor: int) -> bool:
            self.ended += 1
            return remove(descriptor)

        monkeypatch.setattr(loop, "add_reader", added)
        monkeypatch.setattr(loop, "remove_reader", removed)


async def waiting_read(stream: Stream, deadline: float | None = None) -> asyncio.Task[bytes]:
    read = asyncio.create_task(stream.read(deadline))
    await asyncio.sleep(0.01)
    assert not read.done()
    return read


async def test_reads_that_wait_one_after_the_other_watch_the_socket_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connection() as (stream, server):
        watched = Watched(monkeypatch)
        for piece in (b"Two", b" and", b" two"):
            read = await waiting_read(stream)
            server.sendall(piece)
            assert await read == piece
        assert (watched.begun, watched.ended) == (1, 0)
    assert (watched.begun, watched.ended) == (1, 1), "closing ends it: another socket may get the same number"


async def test_bytes_that_no_read_waits_for_wake_the_event_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connection() as (stream, server):
        watched = Watched(monkeypatch)
        read = await waiting_read(stream)
        server.sendall(b"Two")
        await read
        for piece in (b" and", b" two"):
            server.sendall(piece)
            await asyncio.sleep(0.01)
            assert (watched.begun, watched.ended) == (1, 1)
        assert await stream.read(None) == b" and two"
        assert watched.begun == 1
        read = await waiting_read(stream)
        server.sendall(b" is four")
        assert await read == b" is four"


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_after_a_read_that_ended_without_bytes_the_next_one_gets_them(is_cancelled: bool) -> None:
    async with connection() as (stream, server):
        read = await waiting_read(stream, asyncio.get_running_loop().time() + (20 if is_cancelled else 0.02))
        if is_cancelled:
            read.cancel()
        with pytest.raises(asyncio.CancelledError if is_cancelled else TimeoutError):
            await read
        later = await waiting_read(stream)
        server.sendall(b"late")
        assert await later == b"late"


async def test_a_deadline_that_has_passed_ends_a_read_that_would_wait() -> None:
    async with connection() as (stream, server):
        with pytest.raises(TimeoutError):
            await stream.read(asyncio.get_running_loop().time() - 1)
        server.sendall(b"in time")
        assert await stream.read(asyncio.get_running_loop().time() + 20) == b"in time"


async def test_a_connection_that_breaks_or_ends_during_a_read_ends_it() -> None:
    async with connection() as (stream, server):
        read = await waiting_read(stream)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server.close()
        with pytest.raises(ConnectionResetError):
            await read
        assert not stream.is_usable()
    async with connection() as (stream, server):
        read = await waiting_read(stream)
        server.close()
        assert await read == b""
        assert not stream.is_usable()


async def test_an_idle_connection_is_usable_only_while_the_server_is_silent() -> None:
    async with connection() as (stream, server):
        read = await waiting_read(stream)
        server.sendall(b"all of it")
        await read
        assert stream.is_usable()
        server.sendall(b"more than it said")
        assert not stream.is_usable(), "before the event loop looked"
        await asyncio.sleep(0.01)
        assert not stream.is_usable(), "and after it"
