"""A model server is stopped, or a page stops reading: other answers and pages are unaffected, and memory stays bounded."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from tests.processes.counting import PAUSE, Reader, counts, stalls
from tests.support import stub
from tests.support.browser_socket import ENDS
from tests.support.cases import ROUNDS
from tests.support.places import ROOT
from tests.support.served import Deployment, LiveSocket, Server
from tests.support.stub import DONE, SSE_HEAD, chunk

pytestmark = [pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

WORDS = 400
STOPPED_CHATS = 40 if ROUNDS > 1 else 10
OTHER_MODEL = """
import asyncio
from tests.support import stub
async def answer(writer):
    writer.write(stub.SSE_HEAD + stub.chunk(reasoning_content="A long answer."))
    while True:
        writer.write(stub.chunk(content="word "))
        await writer.drain()
        await asyncio.sleep(0.1)
async def main():
    async with stub.running(answer) as model:
        print(model.url, flush=True)
        await asyncio.sleep(280)
asyncio.run(main())
"""
BACKENDS = """
[[backend]]
name = "runs"
models = ["stub"]
url = "{runs}"
[[backend]]
name = "stops"
models = ["stub"]
url = "{stops}"
"""
PARAGRAPHS, PARAGRAPH = 900, "word " * 199 + "\n\n"
ANSWERS = 8 if ROUNDS > 1 else 2
SLOW_PAGES = 40
SEEN_ENDS = (*ENDS, "chatui:idle")
"""On a busy machine the answer may be over before the page that asks follows it, or that page may fall behind."""
BOUND_MEGABYTES = 50.0
"""Each slow page may be half a megabyte behind. Without a limit, the server would hold SLOW_PAGES times all that was written since."""


@contextlib.contextmanager
def another_model() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a model server in a separate process, and the process."""
    process = subprocess.Popen([sys.executable, "-c", OTHER_MODEL], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


async def test_a_stopped_model_server_holds_up_nobody_elses_answer(tmp_path: Path) -> None:
    with another_model() as (stops, other):
        async with stub.running(counts(WORDS)) as model, AsyncExitStack() as sockets:
            file = tmp_path / "backends.toml"
            file.write_text(BACKENDS.format(runs=model.url, stops=stops), encoding="utf-8")
            environment = {"CHATUI_BACKENDS_FILE": str(file), "CHATUI_MAX_RUNNING_ANSWERS": "1000"}
            deployment = Deployment(tmp_path / "data", **environment)
            try:
                server = await asyncio.to_thread(deployment.start)
                await asyncio.to_thread(deployment.make_people, ada=(False, []))
                client = await asyncio.to_thread(server.sign_in, "ada")
                for _ in range(STOPPED_CHATS):
                    held = await sockets.enter_async_context(LiveSocket(server, client))
                    await ask(held, None, "stops")
                    await held.until("response.delta")
                other.send_signal(signal.SIGSTOP)
                await ask(held, None, "stops")  # never gets an answer
                reader = Reader(await sockets.enter_async_context(LiveSocket(server, client)))
                stalled = await sockets.enter_async_context(stalls())
                await reader.ask()
                await asyncio.wait_for(reader.read(), 120)
            finally:
                other.send_signal(signal.SIGCONT)
                await sockets.aclose()
                await asyncio.to_thread(deployment.stop)
    assert reader.end is not None and reader.end["state"] == "completed" and reader.last_seen() == WORDS
    pause = reader.longest_pause(reader.seen[0][0], reader.seen[-1][0])
    assert pause < WORDS * PAUSE / 3 + 2 * stalled.worst, f"{pause}, and this process was late by {stalled.worst}"


async def ask(socket: LiveSocket, conversation: str | None, choice: str | None = None) -> str:
    """Ask, follow the answer, and return the conversation's id."""
    await socket.send("send", client_id=str(uuid4()), conversation=conversation, text="Go on.", effort="low", choice=choice)
    accepted = (await socket.until("chatui:accepted", "chatui:refused"))[-1]
    assert accepted["type"] == "chatui:accepted", accepted
    await socket.send("subscribe", conversation=accepted["conversation"])
    return str(accepted["conversation"])


async def long_answer(writer: asyncio.StreamWriter) -> None:
    """Answers with 900 KB of short paragraphs, each of which is one block on the page."""
    writer.write(SSE_HEAD + chunk(reasoning_content="A long answer."))
    for _ in range(PARAGRAPHS):
        writer.write(chunk(content=PARAGRAPH))
        await writer.drain()
        await asyncio.sleep(0)
    writer.write(chunk("stop") + DONE)
    await writer.drain()


def resident_megabytes(server: Server) -> float:
    """The resident memory of the process."""
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def test_pages_that_read_nothing_cost_a_bounded_amount_of_memory_and_are_shown_the_end(tmp_path: Path) -> None:
    async with stub.running(long_answer) as model, AsyncExitStack() as sockets:
        deployment = Deployment(tmp_path, CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub")
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            client = await asyncio.to_thread(server.sign_in, "ada")
            asker = await sockets.enter_async_context(LiveSocket(server, client))
            conversation = await ask(asker, None)
            await asker.until(*SEEN_ENDS)  # so that the memory of one long answer is already allocated
            slow = [await sockets.enter_async_context(LiveSocket(server, client)) for _ in range(SLOW_PAGES)]
            for page in slow:
                await page.send("subscribe", conversation=conversation)
            before = resident_megabytes(server)
            for _ in range(ANSWERS):
                await ask(asker, conversation)
                assert (await asyncio.wait_for(asker.until(*SEEN_ENDS), 120))[-1]["state"] == "completed"
            grown = resident_megabytes(server) - before
            last = [(await asyncio.wait_for(page.until("chatui:idle"), 120))[-1] for page in slow]
        finally:
            await sockets.aclose()
            await asyncio.to_thread(deployment.stop)
    unbounded = SLOW_PAGES * ANSWERS * PARAGRAPHS * len(PARAGRAPH) / 2**20
    assert grown < BOUND_MEGABYTES < unbounded, f"{grown:.0f} MB more"
    assert {event["conversation"] for event in last} == {conversation}
