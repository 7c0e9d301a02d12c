"""What an answer costs in calls of functions, which are the same on every machine."""

import asyncio
import gc
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint, Taker
from renderer.events import RawEvent
from tests.support.cost import Calls
from tests.support.sampling import PATIENT, sample_request, way_back
from tests.support.stub import DONE, chunk

CALLS = {1: 323, 5: 85}
"""Of a token that is read by itself, and of one of five that come together: of the event loop, HTTP, the stream and the leak guard."""
TOLERANCE = 1.1
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def sent(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


@contextmanager
def model_server(together: int) -> Iterator[str]:
    """In a thread of its own, whose calls do not count. It writes as many tokens as the question says, ``together`` at a time."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listening.accept()
        with connection, connection.makefile("rb") as asked:
            while line := asked.readline():
                size, is_post = 0, line.startswith(b"POST")
                while (line := asked.readline()).strip():
                    size = int(line.partition(b":")[2]) if line.lower().startswith(b"content-length") else size
                question = asked.read(size)
                if not is_post:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
                    continue
                connection.sendall(HEAD)
                for _ in range(int(question.partition(b"TOKENS ")[2].partition(b'"')[0]) // together):
                    time.sleep(0.01)
                    connection.sendall(sent(*[chunk(content=" word")] * together))
                connection.sendall(sent(chunk("stop"), DONE) + b"0\r\n\r\n")

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        serving.join(10)
        listening.close()


@pytest.mark.parametrize("together", CALLS)
async def test_a_token_calls_no_more_functions_than_it_did(together: int) -> None:
    calls = Calls(with_builtins=True)

    async def cost(tokens: int) -> int:
        before, events, way = calls.total, list[RawEvent](), way_back(lambda event: events.append(event))
        gc.disable()  # what watches collections is called by them, too
        calls.watch_this_thread()
        await backend.sample(sample_request(f"TOKENS {tokens}"), Taker(way.feed))
        sys.setprofile(None)
        gc.enable()
        assert "".join(getattr(event, "text", "") for event in events) == " word" * tokens
        return calls.total - before

    with model_server(together) as url:
        limits = replace(PATIENT, read_interval=0.003)
        backend = registry.build(Endpoint(url, model="m", limits=limits, separates="always"))
        await cost(together)  # what is read and compiled once
        short, long = [min([await cost(tokens) for _ in range(5)]) for tokens in (10, 110)]
        await backend.aclose()
        await asyncio.sleep(0)
    assert (long - short) / 100 <= CALLS[together] * TOLERANCE
