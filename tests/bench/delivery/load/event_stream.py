"""A light client for server-sent events over HTTP, with the interface of the WebSocket client: each question is a separate request."""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from tests.bench.delivery.load.websocket import OnFrame

_DATA = b"data: "


class EventStream(asyncio.Protocol):
    """One connection that stays open between requests.

    ``received`` counts all bytes; ``closed`` is the reason why it was closed, empty while it is open.
    """

    is_compressed = False

    def __init__(self, on_frame: OnFrame, on_closed: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_closed = on_closed
        self._rest = b""
        self._time = asyncio.get_running_loop().time
        self.received = 0
        self.closed = ""

    async def open(self, port: int, path: str, headers: Mapping[str, str]) -> None:
        """Connect to that port of this machine. Raises OSError if nothing listens there."""
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", port)
        lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json", "Accept: text/event-stream"]
        self._head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "Content-Length: "])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        now = self._time()
        self.received += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:  # chunk headers are numbers
            if line.startswith(b"HTTP/1.1 ") and not line.startswith(b"HTTP/1.1 200"):
                self._close(line.decode().strip())
            elif line.startswith(_DATA):
                self._on_frame(line[len(_DATA) :].decode(), now)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = self.closed or f"lost {exc}"
        self._on_closed()

    def send(self, text: str) -> None:
        """Send a request with this body."""
        body = text.encode()
        self._transport.write(f"{self._head}{len(body)}\r\n\r\n".encode() + body)

    def close(self) -> None:
        """Close the connection."""
        self._close("by us")

    def _close(self, why: str) -> None:
        self.closed = why
        self._transport.close()
