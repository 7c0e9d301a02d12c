"""A server process is killed or told to end while questions wait in its queue: after its restart they are answered, each once."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.processes.counting import Reader, counts_until
from tests.support import stub
from tests.support.served import Deployment, LiveSocket

pytestmark = [pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

QUEUED = """
from chatui.models import Turn
print(Turn.objects.filter(state="running", is_queued=True).count())
"""
EXPIRE = """
from chatui.models import Turn
Turn.objects.filter(state="running").update(lease_until="2020-01-01T00:00:00Z")
"""
STATES = """
from chatui.models import Turn
print(*Turn.objects.order_by("started_at").values_list("state", flat=True))
"""


async def shell(deployment: Deployment, program: str) -> str:
    return (await asyncio.to_thread(deployment.manage, "shell", "--no-imports", "-c", program)).strip()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
async def test_questions_in_the_queue_of_a_process_that_ends_are_answered_after_its_restart(sent: signal.Signals, tmp_path: Path) -> None:
    end, asked = asyncio.Event(), 0

    async def answer(writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await counts_until(end, 0.02)(writer)

    async with stub.running(answer) as model:
        deployment = Deployment(tmp_path, CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub", CHATUI_MAX_ANSWERS_AT_ONCE="1")
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            client = await asyncio.to_thread(server.sign_in, "ada")
            async with AsyncExitStack() as sockets:
                readers = [Reader(await sockets.enter_async_context(LiveSocket(server, client))) for _ in range(3)]
                for reader in readers:
                    await reader.ask()
                async with asyncio.timeout(60):
                    while await shell(deployment, QUEUED) != "2":
                        await asyncio.sleep(0.1)
                assert asked == 1, "the premise: two wait"
                await asyncio.to_thread(server.stop, sent)
            if sent == signal.SIGKILL:
                await shell(deployment, EXPIRE)
            assert await shell(deployment, QUEUED) == "2"
            end.set()
            server = await asyncio.to_thread(deployment.start)
            client = await asyncio.to_thread(server.sign_in, "ada")
            async with AsyncExitStack() as sockets:
                for reader in readers:
                    await reader.follow(await sockets.enter_async_context(LiveSocket(server, client)))
                async with asyncio.timeout(60):
                    await asyncio.gather(*(reader.read() for reader in readers))
            assert await shell(deployment, STATES) == "interrupted completed completed"
            assert asked == 3, "each was asked once"
        finally:
            await asyncio.to_thread(deployment.stop)
