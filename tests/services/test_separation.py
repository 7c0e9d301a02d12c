"""What one process learns of a model server, that it keeps reasoning apart or does not, every process knows, also one that starts later."""

import asyncio
import os
from pathlib import Path
from uuid import uuid4

import pytest

from tests.services.databases import own_database
from tests.support import stub
from tests.support.browser_socket import ENDS
from tests.support.served import Deployment, LiveSocket, Server, signed_in

pytestmark = pytest.mark.services

TIMEOUT_SECONDS = 240.0
QUIET, THINKS = [{"content": "Hello "}], [{"reasoning": "They greet."}, {"content": "Hello "}]
LEAKS = [{"content": "They greet.\n</think>\nHello "}]


class Model:
    """A model server that ends an answer, in ``deltas``, when it may: until then its text is on pages, or it is held."""

    def __init__(self) -> None:
        self.deltas = QUIET
        self.may_end = asyncio.Event()

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD + b"".join(stub.chunk(**delta) for delta in self.deltas))
        await writer.drain()
        await self.may_end.wait()
        writer.write(stub.chunk("stop", content="there.") + stub.DONE)
        await writer.drain()

    async def is_held(self, server: Server, deltas: list[dict[str, str]] = QUIET) -> bool:
        """Ask in this process. Whether nothing of the text was shown before its end."""
        self.deltas = deltas
        self.may_end.clear()
        client = await asyncio.to_thread(signed_in, server, "ada")
        try:
            async with LiveSocket(server, client) as socket:
                await socket.send("send", client_id=str(uuid4()), conversation=None, text="Good day!", effort="low")
                accepted = (await socket.until("chatui:accepted"))[-1]
                await socket.send("subscribe", conversation=accepted["conversation"])
                first = (await socket.until("chatui:checking", "response.delta", "chatui:snapshot"))[-1]
                if first["type"] == "chatui:snapshot" and not ("chatui:checking" in str(first) or "Hello " in str(first)):
                    first = (await socket.until("chatui:checking", "response.delta"))[-1]
                self.may_end.set()
                await socket.until(*ENDS)
                return "chatui:checking" in str(first)
        finally:
            client.close()

    async def comes(self, *servers: Server, held: bool) -> None:
        """Wait until all of them read an answer so: a matter of seconds, with a limit for a busy machine."""
        for server in servers:
            while await self.is_held(server) is not held:
                await asyncio.sleep(0.2)


async def test_a_proof_and_its_end_are_known_to_every_process(tmp_path: Path) -> None:
    model = Model()
    with own_database() as address:
        async with stub.running(model.answer) as backend:
            deployment = Deployment(
                tmp_path,
                CHATUI_DATABASE_URL=address,
                CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
                CHATUI_BACKEND_URL=backend.url,
                CHATUI_BACKEND_MODEL="gpt-oss-stub",
                CHATUI_BACKEND_KIND="chat",
            )
            try:
                one, two = [await asyncio.to_thread(deployment.start) for _ in range(2)]
                await asyncio.to_thread(deployment.make_people, ada=(False, []))
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    assert await model.is_held(one) and await model.is_held(two), "the premise: nothing is proved"
                    assert not await model.is_held(one, THINKS), "its own reasoning proves it for this answer"
                    assert not await model.is_held(one), "and for the next one here"
                    await model.comes(two, held=False)
                    later = await asyncio.to_thread(deployment.start)
                    assert not await model.is_held(later), "it survives a restart"
                    await model.is_held(two, LEAKS)
                    assert await model.is_held(two), "a sign takes it back"
                    await model.comes(one, later, held=True)
                    assert await model.is_held(await asyncio.to_thread(deployment.start))
            finally:
                await asyncio.to_thread(deployment.stop)
