"""The benchmark's light WebSocket client, against a library's server."""

from __future__ import annotations

import asyncio
import random

import pytest
import websockets.asyncio.server

from tests.bench.delivery.load.websocket import WebSocket


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.asyncio
async def test_texts_of_every_length_come_back_as_they_were_sent(is_compressed: bool) -> None:
    texts = [random.Random(length).choice("aé—") * length for length in (0, 1, 125, 126, 127, 4_000, 65_535, 65_536, 200_000)]
    events: list[str] = []
    has_all = asyncio.Event()

    def take(text: str, received: float) -> None:
        events.append(text)
        if len(events) == len(texts):
            has_all.set()

    async def talk(connection: websockets.asyncio.server.ServerConnection) -> None:
        await connection.ping()
        assert await connection.recv() == "go"
        for text in texts:
            await connection.send(text)
        await connection.wait_closed()

    async with websockets.asyncio.server.serve(talk, "127.0.0.1", 0, compression="deflate" if is_compressed else None) as server:
        socket = WebSocket(take, lambda: None)
        headers = {"Sec-WebSocket-Extensions": "permessage-deflate; client_no_context_takeover"} if is_compressed else {}
        await socket.open(server.sockets[0].getsockname()[1], "/", headers)
        socket.send("go")
        await asyncio.wait_for(has_all.wait(), 60)
        socket.close()
    assert events == texts
    assert socket.is_compressed is is_compressed
    size = sum(len(text.encode()) for text in texts)
    assert socket.received < size if is_compressed else socket.received > size


@pytest.mark.asyncio
async def test_a_socket_that_the_server_closes_says_with_which_code() -> None:
    async def close(connection: websockets.asyncio.server.ServerConnection) -> None:
        await connection.close(4401)

    is_over = asyncio.Event()
    async with websockets.asyncio.server.serve(close, "127.0.0.1", 0) as server:
        socket = WebSocket(lambda text, received: None, is_over.set)
        await socket.open(server.sockets[0].getsockname()[1], "/", {})
        await asyncio.wait_for(is_over.wait(), 60)
    assert "4401" in socket.closed


@pytest.mark.asyncio
async def test_a_server_that_refuses_is_an_error() -> None:
    def refuse(connection: websockets.asyncio.server.ServerConnection, request: object) -> object:
        return connection.respond(403, "no")

    async def nothing(connection: websockets.asyncio.server.ServerConnection) -> None:
        raise AssertionError

    async with websockets.asyncio.server.serve(nothing, "127.0.0.1", 0, process_request=refuse) as server:  # type: ignore[arg-type]
        socket = WebSocket(lambda text, received: None, lambda: None)
        with pytest.raises(ConnectionError, match="403"):
            await socket.open(server.sockets[0].getsockname()[1], "/", {})
