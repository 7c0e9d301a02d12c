"""A light WebSocket client for many sockets in one process: a library's work for each frame would delay its timestamp."""

import asyncio
import base64
import os
import zlib
from collections.abc import Callable, Mapping
from typing import cast

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
LAST, COMPRESSED, MASKED = 128, 64, 128
_SMALL, _TWO_BYTES, _EIGHT_BYTES = 125, 126, 127

OnFrame = Callable[[str, float], None]
"""Called with each text, and the time at which its bytes were received (of the event loop's clock)."""


class WebSocket(asyncio.Protocol):
    """One socket. ``received`` counts the bytes of its frames; ``closed`` is the reason why it was closed, empty while it is open.

    ``is_compressed``: the server agreed to compress its messages.
    """

    def __init__(self, on_frame: OnFrame, on_closed: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_closed = on_closed
        self._buffer = bytearray()
        self._parts = b""
        self._are_deflated = False
        loop = asyncio.get_running_loop()
        self._time = loop.time
        self._opened: asyncio.Future[None] = loop.create_future()
        self.received = 0
        self.closed = ""
        self.is_compressed = False
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)

    async def open(self, port: int, path: str, headers: Mapping[str, str]) -> None:
        """Connect to that port of this machine.

        Raises:
            ConnectionError: the server refuses.
        """
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", port)
        place = f"127.0.0.1:{port}"
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: {place}", "Upgrade: websocket", "Connection: Upgrade", f"Origin: http://{place}"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *(f"{name}: {value}" for name, value in headers.items())]
        self._transport.write("\r\n".join([*lines, "", ""]).encode())
        await self._opened

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        now = self._time()
        self._buffer += data
        if not self._opened.done():
            head, separator, rest = bytes(self._buffer).partition(b"\r\n\r\n")
            if not separator:
                return
            if not head.startswith(b"HTTP/1.1 101"):
                self._opened.set_exception(ConnectionError(head.partition(b"\r\n")[0].decode()))
                return
            self.is_compressed = b"permessage-deflate" in head.lower()
            self._opened.set_result(None)
            self._buffer = bytearray(rest)
            self.received = len(rest)
        else:
            self.received += len(data)
        self._frames(now)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = self.closed or f"lost {exc}"
        if not self._opened.done():
            self._opened.set_exception(ConnectionError("closed"))
        self._on_closed()

    def send(self, text: str) -> None:
        """Send one text."""
        self._send(TEXT, text.encode())

    def close(self) -> None:
        """Send a close frame and close the connection."""
        self.closed = "by us"
        self._send(CLOSE, b"\x03\xe8")
        self._transport.close()

    def _frames(self, now: float) -> None:
        buffer = self._buffer
        while (frame := _first(buffer)) is not None:
            start, end = frame
            first, body = buffer[0], bytes(buffer[start:end])
            del buffer[:end]
            self._frame(first, body, now)

    def _frame(self, first: int, body: bytes, now: float) -> None:
        opcode = first & 15
        if opcode == PING:
            self._send(PONG, body)
        elif opcode == CLOSE:
            self.closed = f"closed by the server with {int.from_bytes(body[:2], 'big')}"
            self._transport.close()
        elif opcode != PONG:
            self._parts += body
            self._are_deflated |= bool(first & COMPRESSED)
            if first & LAST:
                whole, self._parts = self._parts, b""
                if self._are_deflated:
                    whole, self._are_deflated = self._inflate.decompress(whole + b"\0\0\xff\xff"), False
                self._on_frame(whole.decode(), now)

    def _send(self, opcode: int, body: bytes) -> None:
        # A client must mask its frames; a mask of zeros changes nothing.
        size = len(body)
        length = bytes([MASKED | size]) if size <= _SMALL else bytes([MASKED | _TWO_BYTES]) + size.to_bytes(2, "big")
        self._transport.write(bytes([LAST | opcode]) + length + bytes(4) + body)


def _first(buffer: bytearray) -> tuple[int, int] | None:
    """Where the body of the first frame begins and ends; None while it is incomplete."""
    if len(buffer) < 2:
        return None
    length, start = buffer[1] & 127, 2
    if length > _SMALL:
        start += 2 if length == _TWO_BYTES else 8
        if len(buffer) < start:
            return None
        length = int.from_bytes(buffer[2:start], "big")
    return (start, start + length) if len(buffer) >= start + length else None
