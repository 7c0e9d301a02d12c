"""Connects a back end to a stub in memory, without sockets: the same bytes in the same order, quick, and without a network."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from chatui.backends.http1 import transport
from chatui.backends.http1.streams import MAX_AT_ONCE
from tests.support import stub

_stubs: dict[int, stub.Stub] = {}
_ports = itertools.count(70_000)  # no socket has one of these


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let ``stub.running`` accept connections in memory, except in tests that are marked ``served``."""
    if request.node.get_closest_marker("served") is None:
        monkeypatch.setattr(stub, "running", _running)
        monkeypatch.setattr(transport, "connected", _connected)


@asynccontextmanager
async def _running(answer: stub.Answer, **options: Any) -> AsyncIterator[stub.Stub]:
    port, server = next(_ports), stub.Stub(answer, **options)
    server.url = f"http://127.0.0.1:{port}"
    _stubs[port] = server
    try:
        yield server
    finally:
        del _stubs[port]
        await stub.all_closed(server)


async def _connected(host: str, port: int, context: ssl.SSLContext | None) -> _Stream:
    if port not in _stubs:
        raise ConnectionRefusedError(f"no stub has the port {port}")
    return _Stream(_stubs[port])


class _Stream:
    """The client's end of a connection, as ``http1.streams.Stream``."""

    def __init__(self, server: stub.Stub) -> None:
        self._received = asyncio.StreamReader()
        self._sent = asyncio.StreamReader()
        self._writer = _Writer(self._received)
        server.accept(self._sent, cast(asyncio.StreamWriter, self._writer))

    async def read(self, deadline: float | None) -> bytes:
        async with asyncio.timeout_at(deadline):
            return await self._received.read(MAX_AT_ONCE)

    async def write(self, data: bytes) -> None:
        self._sent.feed_data(data)

    def is_usable(self) -> bool:
        return not self._writer.is_closed and not waiting(self._received)

    def close(self) -> None:
        self._writer.is_closed = True
        self._sent.feed_eof()


class _Writer:
    """The stub's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.is_closed = False

    def write(self, data: bytes) -> None:
        if not self.is_closed:
            self._reader.feed_data(data)

    async def drain(self) -> None:
        await asyncio.sleep(0)
        while not self.is_closed and waiting(self._reader) > MAX_AT_ONCE:
            await asyncio.sleep(0)
        if self.is_closed:
            raise ConnectionResetError("the client has closed")

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._reader.feed_eof()


def waiting(reader: asyncio.StreamReader) -> int:
    """How many bytes nobody has read yet."""
    return len(reader._buffer)  # type: ignore[attr-defined]
