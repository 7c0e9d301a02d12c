"""A proxy cuts idle WebSockets: one that waits for a thinking model is not idle, and a page whose socket is cut misses nothing."""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from tests.processes.counting import Reader
from tests.services.databases import own_database
from tests.services.proxy import Proxy
from tests.support import stub
from tests.support.served import Deployment, LiveSocket, signed_in
from tests.support.stub import SSE_HEAD, chunk

pytestmark = [pytest.mark.services, pytest.mark.faults]

IDLE_SECONDS = 9
SILENT_SECONDS = 12
TIMEOUT_SECONDS = 120.0
WORDS = 20


async def thinks_long(writer: asyncio.StreamWriter) -> None:
    """Sends nothing for longer than the proxy's idle timeout, and then counts."""
    writer.write(SSE_HEAD + chunk(reasoning_content="Let me think."))
    await writer.drain()
    await asyncio.sleep(SILENT_SECONDS)
    writer.write(chunk(reasoning_content="I have it."))
    for number in range(1, WORDS + 1):
        writer.write(chunk(content=f"w{number} "))
    writer.write(chunk("stop") + stub.DONE)
    await writer.drain()


async def test_a_proxy_that_cuts_idle_sockets_has_no_visible_effect(tmp_path: Path) -> None:
    with own_database() as address:
        async with stub.running(thinks_long) as model, AsyncExitStack() as sockets:
            deployment = Deployment(
                tmp_path,
                CHATUI_DATABASE_URL=address,
                CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
                CHATUI_BACKEND_URL=model.url,
                CHATUI_BACKEND_MODEL="stub",
            )
            try:
                await asyncio.to_thread(deployment.start)
                await asyncio.to_thread(deployment.make_people, ada=(False, []))
                proxy = Proxy(tmp_path, deployment.servers, IDLE_SECONDS)
                sockets.callback(proxy.stop)
                client = await asyncio.to_thread(signed_in, proxy, "ada")
                sockets.callback(client.close)
                idle = await sockets.enter_async_context(LiveSocket(proxy, client))
                reader = Reader(await sockets.enter_async_context(LiveSocket(proxy, client)))
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    await reader.ask()
                    await reader.read()
                    assert reader.last_seen() == WORDS, "nothing cut this socket while the model was silent"
                    with pytest.raises(ConnectionClosed):
                        while True:  # it receives the new title, and then nothing
                            await idle.next()
                    again = Reader(back := await sockets.enter_async_context(LiveSocket(proxy, client)))
                    again.accepted = reader.accepted
                    await again.follow(back)
                    await again.read()
            finally:
                await sockets.aclose()
                await asyncio.to_thread(deployment.stop)
    assert [each.end["state"] for each in (reader, again) if each.end] == ["completed"] * 2
