"""A small HTTP server on loopback that plays a scripted answer, faulty if requested; it counts connections that a client dropped."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Stub:
    """The requests that the server received. ``answer`` plays the answer to a POST; ``models`` answers ``GET /v1/models``, None for 404."""

    answer: Callable[[asyncio.StreamWriter], Awaitable[None]]
    models: object = None
    server_header: str = "stub"
    extra: dict[str, object] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    dropped: asyncio.Event = field(default_factory=asyncio.Event)
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def posted(self) -> Any:
        """The body of the last POST."""
        return [request for request in self.requests if request.method == "POST"][-1].body

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(asyncio.ensure_future(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _read(reader):
                self.requests.append(request)
                if request.method == "POST":
                    await self._answer(reader, writer)
                    return
                await self._get(request.path, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.dropped.set()
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        playing = asyncio.ensure_future(self.answer(writer))
        leaving = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            self.dropped.set()
        for task in (playing, leaving):
            task.cancel()
        await asyncio.gather(playing, leaving, return_exceptions=True)

    async def _get(self, path: str, writer: asyncio.StreamWriter) -> None:
        found = {"/v1/models": self.models, **self.extra}.get(path)
        body = found if isinstance(found, bytes) else json.dumps(found or {"error": "not found"}).encode()
        status = "200 OK" if found else "404 Not Found"
        head = f"HTTP/1.1 {status}\r\nServer: {self.server_header}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    first = await reader.readline()
    if not first:
        return None
    method, path, version = [*first.decode("latin-1").split(" "), "", ""][:3]
    if not version.startswith("HTTP/"):
        return None  # the greeting of a TLS client, say
    headers = {}
    while (line := (await reader.readline()).decode().strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, json.loads(body) if body else None)


@asynccontextmanager
async def running(answer: Callable[[asyncio.StreamWriter], Awaitable[None]], **options: Any) -> AsyncIterator[Stub]:
    stub = Stub(answer, **options)
    server = await asyncio.start_server(stub.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    stub.url = f"http://127.0.0.1:{port}"
    try:
        yield stub
    finally:
        server.close()
        await server.wait_closed()
        # A connection that the client has closed ends by itself; one left open would be a leak in the client.
        _, left_open = await asyncio.wait(stub.connections, timeout=30) if stub.connections else (set(), set())
        for task in left_open:
            task.cancel()
        assert not left_open, "the client left a connection open"


SSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def plays(raw: bytes, *, seed: int | None = None) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Sends a recorded stream, whole or cut at random bytes, then closes the connection."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD)
        rest, chooser = raw, random.Random(seed)
        while rest:
            size = len(rest) if seed is None else chooser.randint(1, max(len(raw) // 12, 2))
            writer.write(rest[:size])
            rest = rest[size:]
            await writer.drain()
            await asyncio.sleep(0 if seed is None else 0.001)

    return answer


def responds(
    status: str, body: bytes, headers: str = "", content_type: str = "application/json"
) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Sends a plain HTTP response."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    return answer


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    """One event of a Chat Completions stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"object": "chat.completion.chunk", "model": "stub", "choices": [choice]}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
