"""A backend of PostgreSQL stands still while the server itself goes on: nobody waits for it longer than for a statement."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import psycopg
import pytest

from chatui.database.base import GRACE_SECONDS
from tests.processes.counting import Reader, counts
from tests.services.databases import OwnServer, create_tables, own_server
from tests.services.outages.short_pages import PAGE_SECONDS
from tests.support import stub
from tests.support.served import Deployment, LiveSocket, served

pytestmark = [pytest.mark.services, pytest.mark.faults]

WORDS, PAUSE = 100, 0.1
MOST_SECONDS = 90.0


@pytest.fixture
def database() -> Iterator[OwnServer]:
    with own_server() as server:
        create_tables(server.url)
        yield server


class Stopped:
    """Backends that stand still until the end of the test."""

    def __init__(self, database: OwnServer) -> None:
        self._url = database.url
        self.processes: list[int] = []

    def stop(self, which: str) -> None:
        """Stop all client backends of which this is true, and wait for at least one."""
        end = time.monotonic() + MOST_SECONDS
        query = f"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND {which}"
        with psycopg.connect(self._url, autocommit=True) as rows:
            while not (found := [pid for (pid,) in rows.execute(query)]):  # type: ignore[call-overload]
                assert time.monotonic() < end
        for pid in found:
            os.kill(pid, signal.SIGSTOP)
        self.processes += found

    def go_on(self) -> None:
        for pid in self.processes:
            os.kill(pid, signal.SIGCONT)


async def test_an_answer_is_stored_and_pages_are_shown_beside_backends_that_stand_still(database: OwnServer, tmp_path: Path) -> None:
    stopped = Stopped(database)
    settings = {"CHATUI_DATABASE_URL": database.url, "CHATUI_REDIS_URL": os.environ["CHATUI_TEST_REDIS_URL"]}
    async with stub.running(counts(WORDS, PAUSE)) as model, AsyncExitStack() as sockets:
        deployment = Deployment(tmp_path, **settings, CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub")
        deployment.program = ("-m", "tests.services.outages.short_pages")
        with served(deployment, "ada") as server:
            try:
                client = await asyncio.to_thread(server.sign_in, "ada")
                reader = Reader(await sockets.enter_async_context(LiveSocket(server, client)))
                await reader.ask()
                reading = asyncio.create_task(reader.read())
                async with asyncio.timeout(MOST_SECONDS):
                    while reader.last_seen() < 20:
                        await asyncio.sleep(0.05)
                    await asyncio.to_thread(stopped.stop, "state = 'idle'")
                    assert len(stopped.processes) >= 3, "the premise: among them is the writer's"
                    await reading
                assert reader.last_seen() == WORDS and reader.end and reader.end["state"] == "completed", reader.end
                with psycopg.connect(database.url) as holder:
                    holder.execute("LOCK TABLE chatui_conversation IN ACCESS EXCLUSIVE MODE")
                    page = asyncio.create_task(asyncio.to_thread(client.get, "/", timeout=MOST_SECONDS))
                    await asyncio.to_thread(stopped.stop, "wait_event_type = 'Lock' AND state = 'active'")
                begun = time.monotonic()
                assert (await page).status_code == 503 and time.monotonic() - begun < 10 * PAGE_SECONDS
                assert (await asyncio.to_thread(client.get, "/", timeout=MOST_SECONDS)).status_code == 200
            finally:
                stopped.go_on()
    with psycopg.connect(database.url) as rows:
        assert rows.execute("SELECT state FROM chatui_turn").fetchall() == [("completed",)]


@pytest.mark.parametrize(("set_seconds", "status"), [(60, 200), (0, 200), (1, 503)])
def test_the_limit_of_an_operator_counts_for_pages(set_seconds: int, status: int, database: OwnServer, tmp_path: Path) -> None:
    """In the address of the database, in seconds; 0 is none. The lock is there for longer than a page waits otherwise."""
    address = f"{database.url}?options=-c%20statement_timeout%3D{set_seconds}s"
    deployment = Deployment(tmp_path, CHATUI_DATABASE_URL=address)
    deployment.program = ("-m", "tests.services.outages.short_pages")
    with served(deployment, "ada") as server, ThreadPoolExecutor(1) as beside:
        client = server.sign_in("ada")
        with psycopg.connect(database.url) as holder:
            holder.execute("LOCK TABLE chatui_conversation IN ACCESS EXCLUSIVE MODE")
            page = beside.submit(client.get, "/", timeout=MOST_SECONDS)
            with suppress(FutureTimeout):
                page.result(PAGE_SECONDS + 2 * GRACE_SECONDS)
        assert page.result().status_code == status
