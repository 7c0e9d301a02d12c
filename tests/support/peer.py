"""A scripted HTTP server on loopback in a separate thread: it responds well or badly as a test configures, and records requests."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class PeerRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


@dataclass
class Peer:
    """``answer`` may be replaced at any time. ``dropped`` is set when a client disconnects before the end of its response."""

    answer: Callable[[PeerRequest, asyncio.StreamWriter], Awaitable[None]]
    port: int = 0
    requests: list[PeerRequest] = field(default_factory=list)
    dropped: threading.Event = field(default_factory=threading.Event)
    accepted: list[tuple[asyncio.StreamWriter, asyncio.Future[None]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task that is cancelled before its first step closes nothing: a ping may arrive when the test ends.
        self.accepted.append((writer, asyncio.ensure_future(self.serve(reader, writer))))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader)
            self.requests.append(request)
            answering = asyncio.ensure_future(self.answer(request, writer))
            leaving = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() or answering.exception():
                self.dropped.set()
            leaving.cancel()
            answering.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client was only probing, or left early
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> PeerRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    return PeerRequest(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


async def send(writer: asyncio.StreamWriter, body: object, status: int = 200, kind: str = "application/json", extra: str = "") -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n{extra}\r\n"
    writer.write(head.encode() + data)
    await writer.drain()


def saying(body: object, status: int = 200, kind: str = "application/json", extra: str = "") -> Any:
    async def answer(_: PeerRequest, writer: asyncio.StreamWriter) -> None:
        await send(writer, body, status, kind, extra)

    return answer


async def reset(_: PeerRequest, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def stall(_: PeerRequest, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def drip(_: PeerRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n[")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def flood(_: PeerRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b'"' * 0x10000 + b"\r\n")
        await writer.drain()


async def heads_without_end(_: PeerRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def junk(_: PeerRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n\x00\xff")
    await writer.drain()


async def half(_: PeerRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":')
    await writer.drain()


@contextmanager
def peer(answer: Any, port: int = 0) -> Iterator[Peer]:
    """Run the server until the block ends. ``port``: 0 for any."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    created = Peer(answer)
    server = asyncio.run_coroutine_threadsafe(asyncio.start_server(created.accept, "127.0.0.1", port), loop).result()
    created.port = server.sockets[0].getsockname()[1]
    try:
        yield created
    finally:
        asyncio.run_coroutine_threadsafe(_end(server, created), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _end(server: asyncio.Server, created: Peer) -> None:
    # In two steps: if it closed at the moment when a ping is accepted, asyncio would drop that connection without closing its socket.
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening.fileno())
    await asyncio.sleep(0.02)  # lets what was accepted arrive
    server.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for writer, _ in created.accepted:
        writer.transport.abort()  # closing would wait for a client that reads what was flooded
    await asyncio.sleep(0.02)  # lets aborted transports close
