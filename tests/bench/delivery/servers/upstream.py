"""A model server for the benchmark: Chat Completions as an event stream, where each word of the answer is the time at which it was sent.

The last question sets the parameters: ``tokens=300 rate=50``. ``python -m tests.bench.delivery.servers.upstream PORT``.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterator

from tests.bench.delivery.load import stamps

WANTED = re.compile(rb"tokens=(\d+) rate=(\d+)")
MODELS = json.dumps({"object": "list", "data": [{"id": "bench", "object": "model", "owned_by": "vllm"}]}).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
HIDDEN = "The user wants many words. I count them, look at the clock for each, and write them down one after the other. "
BEHIND_AT_ONCE = 20
"""How many overdue tokens are sent at once if the machine was too slow: a real server would not stop for good, either."""


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


class Connection(asyncio.Protocol):
    """One connection: requests one after another, each answered completely."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, rest = bytes(self._received).partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        size = int(length[1]) if length else 0
        if not separator or len(rest) < size:
            return
        self._received = bytearray(rest[size:])
        if head.startswith(b"POST /v1/chat/completions "):
            self._answer(rest[:size])
        elif head.startswith(b"GET /v1/models "):
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(MODELS) + MODELS)
        else:
            self._transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    def _answer(self, body: bytes) -> None:
        # The product's own probes, by which it detects the server, specify nothing.
        tokens, rate = (int(number) for number in [(b"1", b"50"), *WANTED.findall(body)][-1])
        self._transport.write(HEAD + chunk(delta={"role": "assistant", "content": ""}) + chunk(delta={"reasoning_content": HIDDEN}))
        self._pieces = shape(tokens)
        self._rate, self._sent, self._tick = rate, 0, 0
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._send()

    def _send(self) -> None:
        """Send the token that is due, and any overdue ones."""
        due = int((self._loop.time() - self._started) * self._rate) + 1 - self._sent
        for _ in range(max(1, min(due, BEHIND_AT_ONCE))):
            piece = next(self._pieces, None)
            if piece is None:
                self._transport.write(chunk(delta={}, finish="stop") + data(b"[DONE]") + b"0\r\n\r\n")
                return
            # All words of an answer differ, even if two of them are sent within one tick.
            self._tick = max(self._tick + 1, stamps.now())
            self._transport.write(chunk(delta={"content": piece.format(stamps.word(self._tick))}))
            self._sent += 1
        self._timer = self._loop.call_at(self._started + self._sent / self._rate, self._send)


def shape(tokens: int) -> Iterator[str]:
    """An answer of that many tokens, ``{}`` in place of each one's word: paragraphs with emphasis, short lists and headings."""
    for number in range(tokens):
        place = number % 150
        if place == 0:
            yield "## {}" if number == 0 else "\n\n## {}"
        elif place in (8, 60) or (place >= 110 and (place - 110) % 8 == 0):
            yield "\n\n{}" if place < 110 else "\n- {}"
        elif place % 25 == 20:
            yield " **{}**"
        else:
            yield " {}." if place % 12 == 11 else " {}"


def chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    """One event of the stream, as a chunk of the transfer encoding."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    event = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [choice]}
    return data(json.dumps(event).encode())


def data(payload: bytes) -> bytes:
    """One event with this data, as a chunk of the transfer encoding."""
    event = b"data: " + payload + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(event), event)


if __name__ == "__main__":
    asyncio.run(main())
