"""A request to a tool server is sent once, even if a reused connection is lost."""

import asyncio
from pathlib import Path

import pytest

from tests.support.tool_calls import RefusedError
from tests.support.wiki import operation


@pytest.mark.parametrize("method", ["POST", "GET", "PUT", "DELETE"])
async def test_a_call_on_a_lost_connection_is_not_sent_again(method: str, tmp_path: Path) -> None:
    seen: list[list[str]] = []
    """The methods of the requests of each connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append([])
        for number in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            seen[-1].append(head.decode().split()[0])
            if number == 0:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()  # the second call was read, and may have run

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        found = (await asyncio.to_thread(operation, tmp_path, {}, "/x", method.lower())).at(url)
        assert await asyncio.to_thread(found.call) == {}
        with pytest.raises(RefusedError, match="Whether it had an effect is not known"):
            await asyncio.to_thread(found.call)
        await asyncio.to_thread(found.close)
    assert seen[0] == [method, method] and all(method not in each for each in seen[1:]), "on one connection, each once"
