"""The database of a real server is locked by another process, or its disk is full: answers continue, and nothing is lost."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.processes.counting import PAUSE, Reader, Stalls, counts, last_word, stalls
from tests.support import disks, stub
from tests.support.cases import ROUNDS
from tests.support.served import Deployment, LiveSocket, Server

pytestmark = [pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

WORDS = 400
LOCK_SECONDS = 25 if ROUNDS > 1 else 5
FULL_SECONDS = 20 if ROUNDS > 1 else 4


@dataclass
class Running:
    """A server on SQLite, with a signed-in person who reads an answer."""

    server: Server
    client: httpx.Client
    database: Path
    reader: Reader
    stalled: Stalls
    sockets: AsyncExitStack

    async def another_socket(self) -> LiveSocket:
        return await self.sockets.enter_async_context(LiveSocket(self.server, self.client))

    def stored(self) -> str:
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT text FROM chatui_message WHERE channel = 'final'").fetchall()
        return " ".join(text for (text,) in rows)


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[Running]:
    """A server with a question asked, whose answer has begun."""
    async with stub.running(counts(WORDS)) as model, AsyncExitStack() as sockets:
        deployment = Deployment(directory, CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub")
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            client = await asyncio.to_thread(server.sign_in, "ada")
            reader = Reader(await sockets.enter_async_context(LiveSocket(server, client)))
            stalled = await sockets.enter_async_context(stalls())
            await reader.ask()
            reading = asyncio.create_task(reader.read())
            async with asyncio.timeout(30):
                while reader.last_seen() < 20:
                    await asyncio.sleep(0.05)
            yield Running(server, client, directory / "chatui.sqlite3", reader, stalled, sockets)
            await asyncio.wait_for(reading, 60)
        finally:
            await sockets.aclose()
            await asyncio.to_thread(deployment.stop)


async def ask(socket: LiveSocket) -> str:
    """Ask a new question; return the error code of the reply, or else its type."""
    await socket.send("send", client_id=str(uuid4()), conversation=None, text="Are you there?", effort="low")
    reply = (await socket.until("chatui:accepted", "chatui:refused"))[-1]
    return str(reply.get("code") or reply["type"])


async def test_the_write_lock_of_another_process_stops_nobodys_text(tmp_path: Path) -> None:
    async with running(tmp_path) as chat:
        other = sqlite3.connect(chat.database, timeout=30, isolation_level=None)
        socket = await chat.another_socket()
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        asking = asyncio.create_task(ask(socket))
        await asyncio.sleep(LOCK_SECONDS)
        until = min(time.monotonic(), started + WORDS * PAUSE * 0.6)
        other.execute("ROLLBACK")
        other.close()
        assert await asyncio.wait_for(asking, 30) == ("chatui:accepted" if LOCK_SECONDS < 20 else "E-X-SERVER-BUSY")
    pause = chat.reader.longest_pause(started, until)
    # Text that waited for the lock would pause for all of LOCK_SECONDS. How long a busy machine delays the server is not known here.
    assert pause < LOCK_SECONDS / 3 + 2 * chat.stalled.worst, f"{pause}, and this process was late by {chat.stalled.worst}"
    assert chat.reader.end is not None and chat.reader.end["state"] == "completed"
    assert last_word(chat.stored().split("<|message|>")[1]) == WORDS


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disks.small(tmp_path / "disk", megabytes=96) as directory:
        yield directory


def fill(directory: Path, database: Path) -> Path:
    """Fill the disk completely, so that not even the write-ahead log has room. Returns the file that fills it."""
    with contextlib.closing(sqlite3.connect(database, timeout=10)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return disks.fill(directory)


async def test_on_a_full_disk_an_answer_stays_in_memory_until_there_is_room(small_disk: Path) -> None:
    async with running(small_disk) as chat:
        socket = await chat.another_socket()
        filler = await asyncio.to_thread(fill, small_disk, chat.database)
        started, before = time.monotonic(), chat.reader.last_seen()
        assert await asyncio.wait_for(ask(socket), 30) == "E-X-STORAGE-FULL"
        await asyncio.sleep(FULL_SECONDS)
        assert chat.reader.last_seen() > before + 50, "the text continues"
        async with asyncio.timeout(60):
            while chat.reader.last_seen() < WORDS:
                await asyncio.sleep(0.05)
        await asyncio.sleep(1.5)
        assert chat.reader.end is None, "the answer does not end before it is stored"
        assert chat.reader.longest_pause(started, chat.reader.seen[-1][0]) < FULL_SECONDS / 3 + 2 * chat.stalled.worst
        filler.unlink()
    assert chat.reader.end is not None and chat.reader.end["state"] == "completed"
    async with asyncio.timeout(10):
        while "w1 " not in chat.stored():
            await asyncio.sleep(0.1)
    assert last_word(chat.stored().split("<|message|>")[1]) == WORDS
