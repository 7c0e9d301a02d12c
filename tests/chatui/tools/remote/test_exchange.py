"""A request to a tool server is sent once, even if a reused connection is lost."""

import asyncio

import pytest

from chatui.tools.remote.exchange import HttpRequest, ToolServerConnections, whole
from chatui.tools.remote.offers import ServerError


@pytest.mark.parametrize("method", ["POST", "GET", "PUT", "DELETE"])
async def test_a_call_on_a_lost_connection_is_not_sent_again(method: str) -> None:
    seen: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(2):
            await reader.readuntil(b"\r\n\r\n")
            seen.append(number)
            if number == 0:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()  # the second call was read, and may have run

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        connections = ToolServerConnections()
        ask = HttpRequest(method, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {})
        async with connections.opened(ask) as response:
            assert await whole(response, 100) == (b"{}", False)
        with pytest.raises(ServerError, match="RemoteProtocolError"):
            async with connections.opened(ask):
                pass
        assert seen == [0, 1], "on one connection, each once"
        await connections.close()
