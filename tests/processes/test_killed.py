"""A server process is killed in the middle of answers: all that people saw is stored, except for the last second."""

import asyncio
import json
import random
import signal
import time
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from tests.processes.counting import Reader, counts, last_word, stalls
from tests.support import stub
from tests.support.cases import ROUNDS
from tests.support.served import Deployment, LiveSocket
from tests.support.summarizer import QUESTION, THOUGHT

pytestmark = [pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

SWEEP = """
import json
from chatui.models import Message, Turn
from chatui.turns import sweep
Turn.objects.filter(state="running").update(lease_until="2020-01-01T00:00:00Z")
swept = sweep.interrupt_abandoned()
shown = {str(row.conversation_id): row.text for row in Message.objects.filter(channel="final")}
print(json.dumps([len(swept), shown]))
"""
SUMMARIES = """
from chatui.models import Message
print(json.dumps(list(Message.objects.filter(name="reasoning_summary").values_list("activities", flat=True))))
"""
CHATS = 4
BETWEEN = 0.6


async def test_a_kill_at_any_moment_costs_less_than_the_last_second(tmp_path: Path) -> None:
    async with stub.running(counts(2000)) as model:
        deployment = Deployment(tmp_path, CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub")
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            client = await asyncio.to_thread(server.sign_in, "ada")
            async with AsyncExitStack() as sockets:
                stalled = await sockets.enter_async_context(stalls())
                readers = []
                reading = []
                for _ in range(CHATS):  # at various stages when the process is killed
                    reader = Reader(await sockets.enter_async_context(LiveSocket(server, client)))
                    await reader.ask()
                    readers.append(reader)
                    reading.append(asyncio.create_task(reader.read()))
                    await asyncio.sleep(BETWEEN)
                await asyncio.sleep(random.uniform(0.0, 1.5 if ROUNDS > 1 else 0.5))
                at = time.monotonic()
                await asyncio.to_thread(server.stop, signal.SIGKILL)
                await asyncio.gather(*reading, return_exceptions=True)
            swept, shown = json.loads(await asyncio.to_thread(deployment.manage, "shell", "--no-imports", "-c", SWEEP))
        finally:
            await asyncio.to_thread(deployment.stop)
    assert swept == CHATS
    last_words = [last_word(shown.get(reader.accepted["conversation"], "")) for reader in readers]
    seen = [reader.last_seen(at - 1.0 - stalled.worst) for reader in readers]
    assert max(seen) > 20, f"the premise: there was something to lose, {seen}"
    assert all(stored >= read for stored, read in zip(last_words, seen, strict=True)), f"stored {last_words}, shown a second before {seen}"
    assert all(stored <= reader.last_seen() + 60 for stored, reader in zip(last_words, readers, strict=True)), "nothing was made up"


async def test_the_lines_about_the_work_stay_when_their_process_is_killed(tmp_path: Path) -> None:
    async def thinks(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD + stub.chunk(reasoning_content=THOUGHT))
        await writer.drain()
        await asyncio.sleep(60)

    async with stub.running(thinks) as model:
        deployment = Deployment(tmp_path, CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub", CHATUI_BACKEND_KIND="chat")
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            client = await asyncio.to_thread(server.sign_in, "ada")
            async with LiveSocket(server, client) as socket:
                await socket.send("send", client_id=str(uuid4()), conversation=None, text=QUESTION, effort="low")
                accepted = (await socket.until("chatui:accepted"))[-1]
                await socket.send("subscribe", conversation=accepted["conversation"])
                await socket.until("chatui:summary")
                await asyncio.sleep(1.5)
                await asyncio.to_thread(server.stop, signal.SIGKILL)
            said = await asyncio.to_thread(deployment.manage, "shell", "--no-imports", "-c", SWEEP + SUMMARIES)
        finally:
            await asyncio.to_thread(deployment.stop)
    swept, summaries = map(json.loads, said.splitlines())
    assert (swept, summaries) == ([1, {}], [[["compare", "trains", "bicycles"]]])
