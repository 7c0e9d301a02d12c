"""Limits of HTTP connections: a head has a minute, a body must keep a minimum rate, and a client that does not read is dropped
before it fills the memory."""

import asyncio
import contextlib
import os
import resource
import time
from io import BytesIO
from typing import Any

import pytest
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.tcp import Connection
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.http import HTTPFactory, Request

from tests.support import http_connections
from tests.support.limits import limit
from tests.support.served import Server

HEAD_SECONDS = limit("chatui.live", "HEAD_SECONDS")
MIN_BYTES = limit("chatui.live", "MIN_BYTES")
MAX_OPEN_FILES = limit("chatui.live", "MAX_OPEN_FILES")
MAX_UNSENT = limit("chatui.live", "MAX_UNSENT")

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class Answered(Request):
    """A request that is answered on demand."""

    def process(self) -> None:
        waiting.append(self)


waiting: list[Any] = []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    waiting.clear()
    # A long body would be stored in a file, which nobody closes if the test ends before the request.
    monkeypatch.setattr(http, "_getContentFile", lambda length: BytesIO())
    return Clock()


def connected(clock: Clock, transport: Any = None) -> tuple[Any, Any]:
    factory: Any = HTTPFactory(timeout=HEAD_SECONDS, reactor=clock)  # type: ignore[arg-type]
    return http_connections.accept(factory, transport, Answered)


def test_a_head_sent_byte_by_byte_times_out(clock: Clock) -> None:
    connection, transport = connected(clock)
    for _ in range(HEAD_SECONDS):
        assert not transport.disconnecting
        connection.dataReceived(b"G")
        clock.advance(1)
    assert transport.disconnecting


def test_a_silent_connection_times_out(clock: Clock) -> None:
    _, transport = connected(clock)
    clock.advance(HEAD_SECONDS - 1)
    assert not transport.disconnecting
    clock.advance(1)
    assert transport.disconnecting


def test_a_response_may_take_any_time_and_the_next_head_has_a_minute_after_it(clock: Clock) -> None:
    connection, transport = connected(clock)
    for _ in range(3):
        clock.advance(HEAD_SECONDS - 1)
        connection.dataReceived(REQUEST)
        clock.advance(10 * HEAD_SECONDS)
        assert not transport.disconnecting, "while the answer is written"
        waiting.pop().finish()
    clock.advance(HEAD_SECONDS - 1)
    connection.dataReceived(REQUEST[:-4])
    assert not transport.disconnecting
    clock.advance(1)
    assert transport.disconnecting


def test_pipelined_requests_are_answered_in_order(clock: Clock) -> None:
    connection, transport = connected(clock)
    connection.dataReceived(REQUEST + REQUEST)
    waiting.pop().finish()
    clock.advance(10 * HEAD_SECONDS)
    assert not transport.disconnecting, "the second is being answered"
    waiting.pop().finish()
    clock.advance(HEAD_SECONDS)
    assert transport.disconnecting


class Slow(StringTransport, Connection):  # type: ignore[misc]
    """A connection whose peer has not read everything yet."""

    def __init__(self) -> None:
        super().__init__()
        self.dataBuffer, self.offset, self._tempDataLen, self._tempDataBuffer = b"", 0, 0, [b"waits"]
        self.is_aborted = False

    def registerProducer(self, producer: object, streaming: bool) -> None:  # noqa: N802 - Twisted's name
        pass

    def unregisterProducer(self) -> None:  # noqa: N802 - Twisted's name
        pass

    def setTcpNoDelay(self, enabled: bool) -> None:  # noqa: N802 - Twisted's name
        pass

    def abortConnection(self) -> None:  # noqa: N802 - Twisted's name
        self.is_aborted = True


@pytest.mark.parametrize("request_", [REQUEST, REQUEST.replace(b"Host", b"Connection: close\r\nHost")])
def test_a_large_response_may_be_read_at_the_minimum_rate_but_no_slower(request_: bytes, clock: Clock) -> None:
    connection, transport = connected(clock, Slow())
    connection.dataReceived(request_)
    transport._tempDataLen = 20_000_000
    waiting.pop().finish()
    for _ in range(30 * HEAD_SECONDS):
        transport._tempDataLen -= 1000
        clock.advance(1)
        assert not transport.is_aborted
    for _ in range(3 * HEAD_SECONDS):
        transport._tempDataLen -= 1
        clock.advance(1)
    assert transport.is_aborted


LENGTH = 100_000_000
UPLOAD = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % LENGTH
CHUNKED = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_an_upload_may_take_any_time_at_the_minimum_rate(clock: Clock) -> None:
    connection, transport = connected(clock)
    connection.dataReceived(UPLOAD)
    for _ in range(30 * HEAD_SECONDS):
        connection.dataReceived(b"x" * (MIN_BYTES // HEAD_SECONDS))
        clock.advance(1)
        assert not transport.disconnecting
    assert transport.value() == b"" and not waiting


@pytest.mark.parametrize("head", [UPLOAD, CHUNKED])
@pytest.mark.parametrize("before", [b"", b"x" * 1_000_000])
def test_a_body_sent_byte_by_byte_is_refused_and_never_processed(head: bytes, before: bytes, clock: Clock) -> None:
    connection, transport = connected(clock)
    as_sent = (lambda data: data and b"%x\r\n%b\r\n" % (len(data), data)) if head is CHUNKED else bytes
    connection.dataReceived(head + as_sent(before))
    for second in range(2 * HEAD_SECONDS):
        if transport.disconnecting:
            break
        assert second <= HEAD_SECONDS + (HEAD_SECONDS if before else 0)
        connection.dataReceived(as_sent(b"x"))
        clock.advance(1)
    assert transport.disconnecting
    assert transport.value().startswith(b"HTTP/1.1 408 ") and b"Connection: close" in transport.value()
    connection.dataReceived(b"0\r\n\r\n" if head is CHUNKED else b"x" * LENGTH)
    assert not waiting, "the rest of it is not read"


def test_a_stalled_body_is_refused(clock: Clock) -> None:
    connection, transport = connected(clock)
    connection.dataReceived(UPLOAD + b"x" * MIN_BYTES)
    clock.advance(HEAD_SECONDS - 1)
    assert not transport.disconnecting
    clock.advance(1)
    assert transport.value().startswith(b"HTTP/1.1 408 ") and transport.value().count(b"HTTP/1.1") == 1


def test_a_complete_small_body_is_answered_however_long_that_takes(clock: Clock) -> None:
    connection, transport = connected(clock)
    for _ in range(2):
        connection.dataReceived(UPLOAD.replace(b"%d" % LENGTH, b"2") + b"{")
        clock.advance(HEAD_SECONDS - 1)
        connection.dataReceived(b"}")
        clock.advance(10 * HEAD_SECONDS)
        assert not transport.disconnecting and len(waiting) == 1
        waiting.pop().finish()


MOVING_SECONDS = 2
"""Replaces the minute, for a server in another process."""
SLOW = 8000
"""Bytes per second of a slow telephone line."""


async def sent_slowly(port: int, data: bytes, pieces: list[bytes], pause: float) -> tuple[bytes, float]:
    """The response to a request whose body is sent in pieces, until the connection ends, and the seconds until then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    started = time.monotonic()
    writer.write(data)
    answering = asyncio.create_task(reader.read())
    for piece in pieces:
        with contextlib.suppress(ConnectionError):
            writer.write(piece)
            await writer.drain()
        if (await asyncio.wait({answering}, timeout=pause))[0]:
            break
    async with asyncio.timeout(60):
        answer = await answering
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    return answer, time.monotonic() - started


@pytest.mark.served
@pytest.mark.extended
async def test_a_real_server_refuses_drips_but_accepts_slow_lines_and_slow_responses() -> None:
    server = Server({**os.environ, "MOVING_SECONDS": str(MOVING_SECONDS)}, program=("-m", "tests.chatui.live.raising_server"))
    post = b"POST /counted HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
    fixed = post + b"Content-Length: %d\r\n\r\n"
    try:
        await asyncio.to_thread(server.wait_until_healthy)
        dripped, chunked, telephone, silent, ticks = await asyncio.gather(
            sent_slowly(server.port, fixed % 500, [b"x"] * 400, 0.1),
            sent_slowly(server.port, post + b"Transfer-Encoding: chunked\r\n\r\n", [b"1\r\nx\r\n"] * 400, 0.1),
            sent_slowly(server.port, fixed % (6 * SLOW), [b"x" * (SLOW // 4)] * 24, 0.25),
            sent_slowly(server.port, fixed % 500, [b"x"], 30),
            sent_slowly(server.port, b"GET /ticks HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n", [b""], 30),
        )
    finally:
        await asyncio.to_thread(server.stop)
    for answer, seconds in (dripped, chunked, silent):
        assert answer.startswith(b"HTTP/1.1 408 ") and b'"request_timeout"' in answer
        assert seconds >= MOVING_SECONDS - 1
    assert b"\r\n5\r\n48000\r\n" in telephone[0], telephone
    assert ticks[0].count(b"1\r\n.\r\n") == 12 and ticks[1] > 2 * MOVING_SECONDS
    assert server.console.count("counted") == 1, "refused requests reached no application"


def test_a_closed_connection_leaves_nothing_behind(clock: Clock) -> None:
    connection, _ = connected(clock)
    connection.dataReceived(b"GET ")
    connection.connectionLost(Failure(ConnectionDone()))
    assert not clock.getDelayedCalls()


@pytest.mark.parametrize(
    ("limits", "raised"),
    [((1024, 4096), 4096), ((1024, 1_000_000), MAX_OPEN_FILES), ((1024, resource.RLIM_INFINITY), MAX_OPEN_FILES)],
)
def test_the_limit_of_open_files_is_raised(limits: tuple[int, int], raised: int, monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: requested.append(new))
    http_connections.raise_limit()
    assert requested == [(raised, limits[1])]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100_000, 100_000))
    http_connections.raise_limit()
    assert len(requested) == 1, "what is higher stays"


class StuckConnection(Connection):
    """A connection that accepts no more data."""

    def __init__(self, waiting: int) -> None:
        self.dataBuffer, self.offset, self._tempDataLen = b"x" * 10, 10, waiting
        self.is_aborted = False

    def abortConnection(self) -> None:  # noqa: N802 - Twisted's name
        self.is_aborted = True


def test_a_connection_with_too_much_unsent_data_is_dropped() -> None:
    for waiting, is_given_up in ((0, False), (MAX_UNSENT, False), (MAX_UNSENT + 1, True)):
        stuck = StuckConnection(waiting)
        http_connections.give_up_slow(stuck)
        assert stuck.is_aborted is is_given_up
    http_connections.give_up_slow(object())
