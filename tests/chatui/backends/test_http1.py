"""The connections to model servers are reused where that is safe, also with TLS, and each failure is told."""

import asyncio
import contextlib
import gc
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import ref

import httpx
import pytest
from yarl import URL

from chatui.backends.base import BackendError
from chatui.backends.http import Upstream
from chatui.backends.http1 import ModelServerConnections, UpstreamResponse, in_time
from chatui.backends.pace import AnswerPace
from chatui.backends.route import DIRECT
from chatui.backends.sse import ServerSentEvent
from chatui.codes import ProductCode
from tests.support.sampling import PATIENT

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving_play(play: Play, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that does this on each connection and then closes it. Returns its address."""
    playing: set[asyncio.Future[None]] = set()

    async def to_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await play(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        playing.add(asyncio.ensure_future(to_the_end(reader, writer)))

    listening = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    finally:
        listening.close()
        await asyncio.gather(*playing)


class Server:
    """Answers each request on a connection with the same bytes, and counts connections."""

    def __init__(self, response: bytes) -> None:
        self.reply = response
        self.connections = self.requests = 0
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        while await reader.readuntil(b"\r\n\r\n"):
            self.requests += 1
            writer.write(self.reply)


@asynccontextmanager
async def serving(response: bytes, context: ssl.SSLContext | None = None) -> AsyncIterator[tuple[Server, str]]:
    server = Server(response)
    async with serving_play(server.serve, context) as url:
        yield server, url


class Asking:
    """Asks a server as an ``Upstream`` does, but for any address."""

    def __init__(self, connect: float = 20.0) -> None:
        self._connections = ModelServerConnections(DIRECT, connect)

    @asynccontextmanager
    async def opened(self, url: str, seconds: float = 20.0) -> AsyncIterator[UpstreamResponse]:
        async with in_time(asyncio.get_running_loop().time() + seconds):
            answer = await self._connections.answer("GET", URL(url), {"Host": "a"})
        try:
            yield answer
        finally:
            answer.close()

    async def get(self, url: str) -> bytes:
        async with self.opened(url) as answer, in_time(asyncio.get_running_loop().time() + 20):
            return b"".join([piece async for piece in pieces_of(answer)])

    async def aclose(self) -> None:
        await self._connections.aclose()


async def pieces_of(answer: UpstreamResponse) -> AsyncIterator[bytes]:
    while piece := await answer.read():
        yield piece


@asynccontextmanager
async def client(connect: float = 20.0) -> AsyncIterator[Asking]:
    async with contextlib.aclosing(Asking(connect)) as asking:
        yield asking


def said(caught: pytest.ExceptionInfo[BackendError]) -> str:
    """What the failure is called."""
    return caught.value.detail.partition(":")[0]


@pytest.mark.parametrize(
    ("response", "connections"),
    [
        (WHOLE, 1),
        (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", 1),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE, 1),
        (WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n"), 3),
        (WHOLE.replace(b"1.1", b"1.0"), 3),
    ],
)
async def test_a_connection_is_reused_after_a_complete_response(response: bytes, connections: int) -> None:
    async with serving(response) as (server, url), client() as asking:
        for _ in range(3):
            assert await asking.get(url) == b"hello"
    assert (server.requests, server.connections) == (3, connections)


async def test_an_abandoned_response_closes_its_connection() -> None:
    async with serving(CHUNKED + b"5\r\nhello\r\n") as (server, url), client() as asking:
        for _ in range(2):
            async with asking.opened(url) as answer:
                assert await answer.read() == b"hello"
    assert server.connections == 2


async def test_an_answer_that_ends_before_its_body_leaves_nothing_on_the_event_loop() -> None:
    left: list[object] = []

    def stop(events: list[ServerSentEvent]) -> bool:
        assert [event.data for event in events] == ["x", "y"]
        return True

    before = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(finalizer=left.append)
    try:
        async with serving(CHUNKED + b"9\r\ndata: x\n\n\r\n9\r\ndata: y\n\n\r\n0\r\n\r\n") as (server, url):
            upstream = Upstream(url, None, PATIENT)
            for _ in range(2):
                await upstream.stream("/v1/chat/completions", {}, stop)
            await upstream.aclose()
    finally:
        sys.set_asyncgen_hooks(*before)
    assert left == []
    assert server.connections == 1, "the whole body came with the last event"


async def test_an_exchange_is_freed_at_once_without_the_garbage_collector() -> None:
    made: list[ref[object]] = []

    class Watching:
        def answered(self, status: int, headers: Mapping[str, str]) -> None:
            pass

        def read(self, piece: bytes) -> None:
            pass

    read: list[str] = []

    def take(events: list[ServerSentEvent]) -> bool:
        read.extend(event.data for event in events)
        return False

    def watch(method: str, path: str, body: bytes) -> Watching:
        watching = Watching()
        made.append(ref(watching))
        return watching

    gc.disable()
    try:
        async with serving(CHUNKED + b"9\r\ndata: x\n\n\r\n0\r\n\r\n") as (_, url):
            upstream = Upstream(url, None, PATIENT)
            upstream.watcher = watch
            await upstream.stream("/v1/chat/completions", {}, take)
            left = [each() for each in made]
            await upstream.aclose()
    finally:
        gc.enable()
    assert (read, left) == (["x"], [None])


async def test_a_cookie_of_a_load_balancer_is_sent_back_as_it_came() -> None:
    heads: list[bytes] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            heads.append(head)
            cookies = 'Set-Cookie: server="b 7"; Path=/\r\nSet-Cookie: é=ü\r\nSet-Cookie: a=1; Domain=other.example\r\n'
            writer.write(f"HTTP/1.1 200 OK\r\n{cookies}Content-Length: 2\r\n\r\n{{}}".encode())

    async with serving_play(play) as url:
        upstream = Upstream(url, None, PATIENT)
        for _ in range(2):
            assert (await upstream.get("/v1/models"))[1] == {}
        await upstream.aclose()
    assert [b'\r\nCookie: server="b 7"\r\n' in head for head in heads] == [False, True]
    assert all(b"\r\nUser-Agent: chatui\r\n" in head for head in heads)


@pytest.mark.parametrize("key", [None, "sk-1"])
async def test_a_name_and_a_password_in_the_address_are_sent_in_place_of_a_key(key: str | None) -> None:
    heads: list[bytes] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    async with serving_play(play) as url:
        upstream = Upstream(url.replace("//", "//ada:p%40ss@"), key, PATIENT)
        await upstream.get("/v1/models")
        await upstream.aclose()
    assert heads[0].count(b"uthorization: ") == 1
    assert b"\r\nAuthorization: Basic YWRhOnBAc3M=\r\n" in heads[0]


async def test_a_connection_closed_by_the_server_is_not_reused() -> None:
    async with serving(WHOLE) as (server, url), client() as asking:
        await asking.get(url)
        server.writers[0].close()
        await server.writers[0].wait_closed()
        assert await asking.get(url) == b"hello"
    assert server.connections == 2


async def test_a_connection_closed_on_reuse_is_replaced() -> None:
    received: list[bytes] = []

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(WHOLE)
        received.append(await reader.readuntil(b"\r\n\r\n"))

    async with serving_play(answer_once) as url, client() as asking:
        for _ in range(2):
            assert await asking.get(url) == b"hello"
    assert len(received) == 1


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"SSH-2.0-nonsense\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
        WHOLE[:-1],
        WHOLE + b"and more than it said",
        CHUNKED + b"5\r\nhello",
        CHUNKED + b"nonsense\r\n",
    ],
)
async def test_a_protocol_violation_is_reported(response: bytes) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)

    async with serving_play(say) as url, client() as asking:
        with pytest.raises(BackendError) as caught:
            await asking.get(url)
    assert said(caught) == "RemoteProtocolError"


async def test_a_server_that_accepts_no_connection_is_left_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as waiting:
        for _ in range(8):
            held = waiting.enter_context(socket.socket())
            held.setblocking(False)
            held.connect_ex(full.getsockname())
        async with client(connect=0.2) as asking:
            with pytest.raises(BackendError) as caught:
                await asking.get(f"http://127.0.0.1:{full.getsockname()[1]}/?key=SECRET")
    assert said(caught) == "ConnectTimeout" and "SECRET" not in caught.value.detail


async def test_a_header_that_would_begin_another_is_refused() -> None:
    async with serving(WHOLE) as (server, url):
        upstream = Upstream(url, "SECRET\r\nX-Other: 1", PATIENT)
        with pytest.raises(BackendError) as caught:
            await upstream.get("/v1/models")
        await upstream.aclose()
    assert said(caught) == "LocalProtocolError" and "SECRET" not in caught.value.detail
    assert server.requests == 0


async def test_tls_works_and_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    async with serving(WHOLE, context) as (server, url):
        async with client() as asking:
            with pytest.raises(BackendError) as caught:
                await asking.get(url)
            assert said(caught) == "ConnectError" and "CERTIFICATE_VERIFY_FAILED" in caught.value.detail
        monkeypatch.setattr(httpx, "create_ssl_context", lambda **_: ssl.create_default_context(cafile=certificate))
        async with client() as asking:
            for _ in range(2):
                assert await asking.get(url) == b"hello"
            with pytest.raises(BackendError) as caught:
                await asking.get(url.replace("127.0.0.1", "localhost"))
            assert said(caught) == "ConnectError"
    assert server.requests == 2


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://model.example:8000/v1", "model.example:8000"),
        ("http://model.example:80", "model.example"),
        ("HTTP://MODEL.example:80/V1", "model.example"),
        ("HTTPS://model.example:443", "model.example"),
        ("http://[::1]:8080/v1/", "[::1]:8080"),
        ("http://ada:secret@model.example/v1", "model.example"),
        ("http://bücher.example", "xn--bcher-kva.example"),
    ],
)
async def test_a_request_names_the_host_as_httpx_does(url: str, host: str) -> None:
    upstream = Upstream(url, None, PATIENT)
    assert upstream._headers["Host"] == host == httpx.Request("GET", upstream._address("/v1/models")[0]).headers["Host"]


@pytest.mark.parametrize("seconds", [0, 0.05])
async def test_what_came_before_a_connection_broke_is_read(seconds: float) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED + b"5\r\nhello\r\n")

    async with serving_play(say) as url, client() as asking, asking.opened(url) as answer:
        await asyncio.sleep(seconds)
        assert await answer.read() == b"hello"
        await asyncio.sleep(seconds)
        with pytest.raises(BackendError) as caught:
            async with in_time(asyncio.get_running_loop().time() + 20):
                await answer.read()
    assert said(caught) == "RemoteProtocolError"


# A server that sends as fast as it can does not block others: the event loop keeps running, and deadlines hold.


AT_MOST_SECONDS = 30.0
"""Seconds after which a flood ends by itself."""


class Flood:
    """A server in a thread, independent of the event loop: it sends ``begin`` and then ``more`` until it is disconnected."""

    def __init__(self, begin: bytes, more: bytes) -> None:
        self.was_cut_off = threading.Event()
        self._parts = begin, more
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Flood"]:
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


async def test_endless_interim_responses_let_others_run_and_a_deadline_ends_them() -> None:
    async with Flood(b"", b"HTTP/1.1 102 Processing\r\n\r\n").serving() as flood, client() as asking:
        with pytest.raises(BackendError) as caught:
            async with asking.opened(flood.url, seconds=0.5):
                pass
    assert caught.value.code is ProductCode.TIMEOUT
    assert flood.was_cut_off.is_set()


async def test_a_fast_body_lets_others_run_and_a_deadline_ends_it() -> None:
    line = b"1;" + b"x" * 8000 + b"\r\n \r\n"
    async with Flood(CHUNKED, line).serving() as flood, client() as asking:
        with pytest.raises(BackendError) as caught:
            async with asking.opened(flood.url) as answer, in_time(asyncio.get_running_loop().time() + 0.5):
                async for _ in pieces_of(answer):
                    pass
    assert caught.value.code is ProductCode.TIMEOUT
    assert flood.was_cut_off.is_set()


async def test_a_body_that_fills_every_read_is_read_at_the_common_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = reads = 0

    def pause(pace: AnswerPace) -> float:
        nonlocal pauses
        pauses += 1
        return 0.0

    def read(events: list[ServerSentEvent]) -> bool:
        nonlocal reads
        reads += 1
        return reads == 30

    monkeypatch.setattr(AnswerPace, "next_read", pause)
    async with Flood(CHUNKED, b"9\r\ndata: x\n\n\r\n" * 100).serving() as flood:
        upstream = Upstream(flood.url, None, PATIENT)
        await upstream.stream("/v1/chat/completions", {}, read)
        await upstream.aclose()
    assert pauses >= 12, "at most every second read is without one"
