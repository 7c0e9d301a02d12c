"""The connections to model servers are reused where that is safe, also with TLS, and each failure is told."""

import asyncio
import contextlib
import gc
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from weakref import ref

import aiohttp
import httpx
import pytest

from chatui.backends.base import BackendError
from chatui.backends.http import Upstream
from chatui.codes import ProductCode
from tests.support import pace
from tests.support.sampling import PATIENT

WHOLE = b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"hello"'
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


@asynccontextmanager
async def client(url: str, **limits: float) -> AsyncIterator[Upstream]:
    async with contextlib.aclosing(Upstream(url, None, replace(PATIENT, **limits))) as upstream:  # type: ignore[arg-type]
        yield upstream


async def got(upstream: Upstream) -> object:
    return (await upstream.get("/v1/models"))[1]


async def streamed(upstream: Upstream, most: int = 1_000_000) -> list[str]:
    """The data of the events of an answer, at most of so many reads."""
    reads: list[list[str]] = []

    def feed(events: Sequence[Any]) -> bool:
        reads.append([event.data for event in events])
        return len(reads) == most

    try:
        await upstream.stream("/v1/chat/completions", {}, feed)
    except BackendError as error:
        error.add_note(json.dumps(list(chain(*reads))))
        raise
    return [*chain(*reads)]


def said(caught: pytest.ExceptionInfo[BackendError]) -> str:
    """What the failure is called."""
    return caught.value.detail.partition(":")[0]


@pytest.mark.parametrize(
    ("response", "connections"),
    [
        (WHOLE, 1),
        (CHUNKED + b'7\r\n"hello"\r\n0\r\n\r\n', 1),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE, 1),
        (WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n"), 3),
        (WHOLE.replace(b"1.1", b"1.0"), 3),
    ],
)
async def test_a_connection_is_reused_after_a_complete_response(response: bytes, connections: int) -> None:
    async with serving(response) as (server, url), client(url) as asking:
        for _ in range(3):
            assert await got(asking) == "hello"
    assert (server.requests, server.connections) == (3, connections)


async def test_an_abandoned_response_closes_its_connection() -> None:
    async with serving(CHUNKED + b"9\r\ndata: x\n\n\r\n") as (server, url), client(url) as asking:
        for _ in range(2):
            assert await streamed(asking, most=1) == ["x"]
    assert server.connections == 2


async def test_an_answer_that_ends_before_its_body_leaves_nothing_on_the_event_loop() -> None:
    left: list[object] = []

    def stop(events: Sequence[Any]) -> bool:
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

    def take(events: Sequence[Any]) -> bool:
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
    async with serving(WHOLE) as (server, url), client(url) as asking:
        await got(asking)
        server.writers[0].close()
        await server.writers[0].wait_closed()
        assert await got(asking) == "hello"
    assert server.connections == 2


async def test_a_connection_closed_on_reuse_is_replaced() -> None:
    received: list[bytes] = []

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a": 17}')
        received.append(await reader.readuntil(b"\r\n\r\n"))

    async with serving_play(answer_once) as url, client(url) as asking:
        assert await got(asking) == {"a": 17}
        assert await asking.post("/v1/chat/completions", {}) == {"a": 17}, "and not only a GET, which any client repeats"
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

    async with serving_play(say) as url, client(url) as asking:
        with pytest.raises(BackendError) as caught:
            await got(asking)
    assert said(caught) == "RemoteProtocolError"


async def test_a_server_that_accepts_no_connection_is_left_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as waiting:
        for _ in range(8):
            held = waiting.enter_context(socket.socket())
            held.setblocking(False)
            held.connect_ex(full.getsockname())
        async with client(f"http://ada:SECRET@127.0.0.1:{full.getsockname()[1]}", connect=0.2) as asking:
            with pytest.raises(BackendError) as caught:
                await got(asking)
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
        async with client(url) as asking:
            with pytest.raises(BackendError) as caught:
                await got(asking)
            assert said(caught) == "ConnectError" and "CERTIFICATE_VERIFY_FAILED" in caught.value.detail
        monkeypatch.setattr(httpx, "create_ssl_context", lambda **_: ssl.create_default_context(cafile=certificate))
        async with client(url) as asking, client(url.replace("127.0.0.1", "localhost")) as by_another_name:
            for _ in range(2):
                assert await got(asking) == "hello"
            with pytest.raises(BackendError) as caught:
                await got(by_another_name)
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
async def test_a_request_names_the_host_as_httpx_does(url: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, str]] = []

    async def request(session: object, method: str, address: object, *, headers: Mapping[str, str], **_: object) -> None:
        sent.append((headers["Host"], httpx.Request(method, str(address)).headers["Host"]))
        raise aiohttp.ClientError

    monkeypatch.setattr(aiohttp.ClientSession, "request", request)
    async with client(url) as asking:
        with pytest.raises(BackendError):
            await got(asking)
    assert sent == [(host, host)]


@pytest.mark.parametrize("seconds", [0, 0.05])
async def test_what_came_before_a_connection_broke_is_read(seconds: float) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED + b"9\r\ndata: x\n\n\r\n")
        await asyncio.sleep(seconds)

    async with serving_play(say) as url, client(url, read_interval=0.02) as asking:
        with pytest.raises(BackendError) as caught:
            await streamed(asking)
    assert said(caught) == "RemoteProtocolError" and caught.value.__notes__ == ['["x"]']


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
    async with Flood(b"", b"HTTP/1.1 102 Processing\r\n\r\n").serving() as flood, client(flood.url, discover=0.5) as asking:
        with pytest.raises(BackendError) as caught:
            await got(asking)
    assert caught.value.code is ProductCode.TIMEOUT
    assert flood.was_cut_off.is_set()


async def test_a_fast_body_lets_others_run_and_a_deadline_ends_it() -> None:
    line = b"1;" + b"x" * 8000 + b"\r\n \r\n"
    async with Flood(CHUNKED, line).serving() as flood, client(flood.url, overall=0.5, max_line_bytes=1 << 40) as asking:
        with pytest.raises(BackendError) as caught:
            await streamed(asking)
    assert caught.value.code is ProductCode.TIMEOUT
    assert flood.was_cut_off.is_set()


async def test_a_body_that_fills_every_read_is_read_at_the_common_pace() -> None:
    async with Flood(CHUNKED, b"9\r\ndata: x\n\n\r\n" * 100).serving() as flood, client(flood.url) as asking:
        with pace.counted() as pauses:
            await streamed(asking, most=30)
    assert len(pauses) >= 12, "at most every second read is without one"
