"""A server that sends as fast as it can does not block others: the event loop keeps running, and deadlines hold."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from chatui.backends.http1 import READING, BodyReading, Transport

AT_MOST_SECONDS = 30.0
"""Seconds after which a flood ends by itself."""
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Flood:
    """A server in a thread, independent of the event loop: it sends ``begin`` and then ``more`` until it is disconnected."""

    def __init__(self, begin: bytes, more: bytes) -> None:
        self.was_cut_off = threading.Event()
        self._parts = begin, more
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Flood]:
        self._thread.start()
        try:
            yield self
        finally:
            self._listening.close()
            await asyncio.to_thread(self._thread.join, 2 * AT_MOST_SECONDS)

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        begin, more = self._parts
        end = time.monotonic() + AT_MOST_SECONDS
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(begin)
            while time.monotonic() < end:
                connection.sendall(more * 1000)
            return
        self.was_cut_off.set()


def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=Transport(), timeout=httpx.Timeout(None), trust_env=False)


@pytest.mark.asyncio
async def test_endless_interim_responses_let_others_run_and_a_deadline_ends_them() -> None:
    async with Flood(b"", b"HTTP/1.1 102 Processing\r\n\r\n").serving() as flood, client() as asking:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await asking.get(flood.url)
    assert flood.was_cut_off.is_set()


@pytest.mark.asyncio
async def test_a_fast_body_lets_others_run_and_a_deadline_ends_it() -> None:
    line = b"1;" + b"x" * 8000 + b"\r\n \r\n"
    async with Flood(CHUNKED, line).serving() as flood, client() as asking:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5), asking.stream("GET", flood.url) as response:
                async for _ in response.aiter_raw():
                    pass
    assert flood.was_cut_off.is_set()


@pytest.mark.asyncio
async def test_a_body_that_fills_every_read_is_read_at_the_common_pace() -> None:
    pauses = 0

    async def pause() -> None:
        nonlocal pauses
        pauses += 1

    reads = 0
    async with Flood(CHUNKED, b"2\r\n:\n\r\n" * 100).serving() as flood, client() as asking:
        reading = BodyReading(lambda: asyncio.get_running_loop().time() + AT_MOST_SECONDS, pause)
        async with asking.stream("GET", flood.url, extensions={READING: reading}) as response:
            async for _ in response.aiter_raw():
                reads += 1
                if reads == 30:
                    break
    assert pauses >= 12, "at most every second read is without one"
