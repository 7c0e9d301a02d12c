"""PostgreSQL is unreachable for a while: answers continue, nothing is lost, and no process sweeps another's answers as abandoned."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest

from tests.processes.counting import PAUSE, Reader, counts, last_word, stalls
from tests.services.databases import own_database
from tests.support import stub
from tests.support.cases import ROUNDS
from tests.support.served import Deployment, LiveSocket

pytestmark = [pytest.mark.services, pytest.mark.faults]

AWAY_SECONDS = 40 if ROUNDS > 1 else 8
MOST_WAIT_SECONDS = 5
"""For how long a page waits once the database is back: less than the outage has lasted."""
WORDS = round((AWAY_SECONDS + 4) / PAUSE)


class Line:
    """A TCP proxy before PostgreSQL, which can be cut."""

    def __init__(self, address: str) -> None:
        self._address = urlsplit(address)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_cut = False

    async def open(self) -> str:
        """Start listening. Returns the database address that leads through this proxy."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        user = f"{self._address.username}{f':{self._address.password}' if self._address.password else ''}"
        return urlunsplit(self._address._replace(netloc=f"{user}@127.0.0.1:{self._port}"))

    def cut(self) -> None:
        """Break every connection, and refuse new ones immediately."""
        self._is_cut = True
        for task in self._tasks:
            task.cancel()

    def restore(self) -> None:
        """Accept connections again."""
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        self._server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if not self._is_cut:
                await self._pass_on(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the line was cut, or one of its ends disconnected
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._address.hostname, self._address.port or 5432)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, far_writer))
                both.create_task(_copy(far_reader, writer))
        except* OSError:
            pass
        finally:
            far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError  # so that the other direction ends too


@pytest.fixture
def database() -> Iterator[str]:
    """The address of a new database."""
    with own_database() as address:
        yield address


def _miss(client: httpx.Client) -> None:
    """Request pages while the database is away: the first one finds a broken connection, the second one has the pool open another."""
    for _ in range(2):
        client.get("/", timeout=60)


async def test_while_postgresql_is_away_text_goes_on_and_nothing_is_lost(database: str, tmp_path: Path) -> None:
    line = Line(database)
    through = await line.open()
    async with stub.running(counts(WORDS)) as model:
        deployment = Deployment(
            tmp_path,
            CHATUI_DATABASE_URL=through,
            CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
            CHATUI_BACKEND_URL=model.url,
            CHATUI_BACKEND_MODEL="stub",
        )
        try:
            one = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.start)  # another process, which could sweep the answers as abandoned
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            client = await asyncio.to_thread(one.sign_in, "ada")
            async with AsyncExitStack() as sockets:
                stalled = await sockets.enter_async_context(stalls())
                reader = Reader(await sockets.enter_async_context(LiveSocket(one, client)))
                await reader.ask()
                reading = asyncio.create_task(reader.read())
                async with asyncio.timeout(30):
                    while reader.last_seen() < 20:
                        await asyncio.sleep(0.05)
                line.cut()
                started = time.monotonic()
                missed = asyncio.create_task(asyncio.to_thread(_miss, client))
                await asyncio.sleep(AWAY_SECONDS)
                line.restore()
                restored = time.monotonic()
                pause = reader.longest_pause(started, restored)
                shown = await asyncio.to_thread(client.get, "/", timeout=60)
                waited = time.monotonic() - restored
                await missed
                await asyncio.wait_for(reading, 90)
        finally:
            await asyncio.to_thread(deployment.stop)
            line.close()
    assert pause < AWAY_SECONDS / 4 + 2 * stalled.worst, f"{pause}, and this process was late by {stalled.worst}"
    assert shown.status_code == 200 and waited < MOST_WAIT_SECONDS + 2 * stalled.worst, f"a page took {waited} s afterwards"
    assert reader.end is not None and reader.end["state"] == "completed"
    with psycopg.connect(database) as connection:
        [(text,)] = connection.execute("SELECT text FROM chatui_message WHERE channel = 'final'").fetchall()
        assert connection.execute("SELECT COUNT(*) FROM chatui_turnpiece").fetchone() == (0,)
    assert last_word(text.split("<|message|>")[1]) == WORDS
