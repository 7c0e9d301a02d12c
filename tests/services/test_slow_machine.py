"""A process slowed to a fifth of its speed while many people start chats: no chat is cut, neither by itself nor by another process."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.processes.counting import counts
from tests.processes.crowd import gathered
from tests.services.databases import own_database
from tests.support import stub
from tests.support.cases import ROUNDS
from tests.support.served import Deployment, Server

pytestmark = [pytest.mark.services, pytest.mark.faults]

CHATS = 400 if ROUNDS > 1 else 30
WORDS, PAUSE = 10, 0.5
STOPPED, RUNNING = 0.4, 0.1
"""The seconds stopped (SIGSTOP) and running (SIGCONT), in turn."""
TIMEOUT_SECONDS = 270.0


@contextlib.contextmanager
def slowed(server: Server) -> Iterator[None]:
    """Slow the server to a fifth of its speed, as on a machine that is busy with other work."""
    is_over = threading.Event()

    def turns() -> None:
        while not is_over.is_set():
            server.process.send_signal(signal.SIGSTOP)
            is_over.wait(STOPPED)
            server.process.send_signal(signal.SIGCONT)
            is_over.wait(RUNNING)

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        server.process.send_signal(signal.SIGCONT)


async def test_at_a_fifth_of_its_speed_a_process_loses_no_chat(tmp_path: Path) -> None:
    async with stub.running(counts(WORDS, PAUSE)) as model:
        with own_database() as address:
            deployment = Deployment(
                tmp_path,
                CHATUI_DATABASE_URL=address,
                CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
                CHATUI_BACKEND_URL=model.url,
                CHATUI_BACKEND_MODEL="stub",
                CHATUI_MAX_RUNNING_ANSWERS="10000",
                CHATUI_MAX_ANSWERS_AT_ONCE="10000",
                CHATUI_DRAIN_SECONDS="60",
            )
            try:
                slow = await asyncio.to_thread(deployment.start)
                await asyncio.to_thread(deployment.start)  # another process, which sweeps abandoned turns
                async with asyncio.timeout(TIMEOUT_SECONDS), gathered(deployment, slow, CHATS) as crowd:
                    with slowed(slow):
                        await crowd.ask()
                        assert (len(crowd.accepted), crowd.refused) == (CHATS, {})
                        await crowd.read()
                    while "running" in (states := stored(address)):
                        await asyncio.sleep(0.2)
            finally:
                await asyncio.to_thread(deployment.stop)
    assert states == {"completed": CHATS}
    assert [page.end["state"] for page in crowd.pages if page.end] == ["completed"] * len(crowd.pages)


def stored(database: str) -> dict[str, int]:
    """The number of turns in each state."""
    with psycopg.connect(database) as connection:
        return dict(connection.execute("SELECT state, COUNT(*) FROM chatui_turn GROUP BY state").fetchall())
