"""A thousand idle connections do not disturb a server: it answers others, its memory stays bounded, and it closes the idle ones."""

import asyncio
import contextlib
import resource
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.chatui.api.deployed import key_at
from tests.processes.test_one_stands_still import resident_megabytes
from tests.support.cases import ROUNDS
from tests.support.limits import limit
from tests.support.served import Deployment, Server

HEAD_SECONDS = limit("chatui.live", "HEAD_SECONDS")

pytestmark = [pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

CONNECTIONS = 1000 if ROUNDS > 1 else 100
FILES = 1024 if ROUNDS > 1 else 128
"""The initial limit of open files of the process: about as many as the connections alone would use up."""
MEGABYTES_EACH, ROOM = 0.1, 60
"""Megabytes of memory: per connection, and ``ROOM`` for the other requests that the process answers meanwhile."""
READERS = 8
"""The response streams that one person may follow at once."""
LATE = 45
"""How many seconds too late a busy machine may close an idle connection."""

KINDS: dict[str, bytes] = {
    "silent": b"",
    "half a head": b"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthori",
    "half a line": b"GET /si",
    "half a body": b"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500000\r\n\r\n{",
    "idle after an answer": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


@contextmanager
def few_files() -> Iterator[None]:
    """Processes started within have the low limit of open files that many systems set."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def started(deployment: Deployment) -> Server:
    with few_files():
        return deployment.start()


Connection = tuple[str, asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def idle(port: int) -> AsyncIterator[list[Connection]]:
    """``CONNECTIONS`` open connections, equally many of each kind."""
    found: list[Connection] = []
    try:
        for number in range(CONNECTIONS):
            kind = list(KINDS)[number % len(KINDS)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(KINDS[kind])
            await writer.drain()
            found.append((kind, reader, writer))
        for kind, reader, _ in found:
            if kind == "idle after an answer":
                assert b"200" in await reader.readline()
        yield found
    finally:
        for _, _, writer in found:
            writer.close()


async def ended(reader: asyncio.StreamReader) -> None:
    """Wait until the server has closed the connection."""
    with contextlib.suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass


async def drip(port: int) -> float:
    """How many seconds the server accepts an endless request head of which one byte arrives each second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
    started, over = time.monotonic(), asyncio.create_task(ended(reader))
    while not over.done():
        with contextlib.suppress(ConnectionError):
            writer.write(b"x")
            await writer.drain()
        await asyncio.wait({over}, timeout=1)
    writer.close()
    return time.monotonic() - started


async def test_idle_connections_hold_up_nobody_cost_little_and_are_ended(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, CHATUI_DEMO_TOKENS_PER_SECOND="20")
    try:
        server = await asyncio.to_thread(started, deployment)
        await asyncio.to_thread(deployment.make_people, ada=(False, []))
        key = await asyncio.to_thread(key_at, tmp_path)
        client = await asyncio.to_thread(server.sign_in, "ada")
        limits = httpx.Limits(max_connections=None)
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=120, trust_env=False, limits=limits) as program:
            body = {"model": "demo", "input": "Write a long text.", "background": True}
            response_id = (await program.post("/v1/responses", json=body)).json()["id"]
            before = resident_megabytes(server)
            opened_at = time.monotonic()
            async with idle(server.port) as connections, contextlib.AsyncExitStack() as streams:
                opened_in = time.monotonic() - opened_at
                for _ in range(READERS):
                    address = f"/v1/responses/{response_id}?stream=true&starting_after=0"
                    assert (await streams.enter_async_context(program.stream("GET", address))).status_code == 200
                assert resident_megabytes(server) - before < CONNECTIONS * MEGABYTES_EACH + ROOM
                assert "ada" in (await asyncio.to_thread(client.get, "/")).text
                other = await program.post("/v1/responses", json={"model": "demo", "input": "Say hello."})
                assert other.status_code == 200 and other.json()["status"] == "completed"
                assert (await program.post(f"/v1/responses/{response_id}/cancel")).status_code == 200
                if ROUNDS > 1:
                    dripping = asyncio.create_task(drip(server.port))
                    async with asyncio.timeout(HEAD_SECONDS + opened_in + LATE):
                        await asyncio.gather(*(ended(reader) for _, reader, _ in connections))
                    assert HEAD_SECONDS - 5 <= await dripping <= HEAD_SECONDS + LATE
            assert (await program.get("/v1/models")).status_code == 200
    finally:
        await asyncio.to_thread(deployment.stop)
