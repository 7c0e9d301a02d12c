"""A rolling restart of two processes behind a proxy while people chat: no answer is cut, and no page fails."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.processes.counting import Reader, counts_until, last_word
from tests.services.databases import own_database
from tests.services.proxy import Proxy
from tests.support import stub
from tests.support.cases import ROUNDS
from tests.support.served import Deployment, LiveSocket, Server, signed_in

pytestmark = [pytest.mark.services, pytest.mark.faults]

CHATS = 100 if ROUNDS > 1 else 20
CHATS_A_PERSON = 25
PAUSE = 0.25
TIMEOUT_SECONDS = 120.0
"""The time limit of any step on a busy machine."""


@dataclass
class Chat:
    """Somebody who reads an answer and, like a page, reconnects whenever the WebSocket ends. ``codes``: the close code of each."""

    proxy: Proxy
    client: httpx.Client
    codes: list[int] = field(default_factory=list)
    reader: Reader = field(init=False)

    async def begin(self) -> asyncio.Task[None]:
        """Ask. Returns the task that reads until the answer ends."""
        socket = await LiveSocket(self.proxy, self.client).__aenter__()
        self.reader = Reader(socket)
        await self.reader.ask()
        return asyncio.create_task(self._read(socket))

    async def _read(self, socket: LiveSocket) -> None:
        while True:
            try:
                if self.codes:
                    await self.reader.follow(socket)  # may end at once: the proxy may not know yet that this process is stopping
                await self.reader.read()
                return
            except ConnectionClosed as closed:
                self.codes.append(closed.rcvd.code if closed.rcvd else 0)
            finally:
                await socket.__aexit__()
            socket = await self._back()

    async def _back(self) -> LiveSocket:
        while True:
            try:
                return await LiveSocket(self.proxy, self.client).__aenter__()
            except (OSError, InvalidHandshake):
                await asyncio.sleep(0.2)

    async def reads_on(self, reading: asyncio.Task[None]) -> None:
        """Wait for one more word. Raises the error that ended the reading, if any."""
        before = self.reader.last_seen()
        while self.reader.last_seen() <= before and not reading.done():
            await asyncio.sleep(0.02)
        if reading.done():
            await reading


class Wave:
    """Answers that continue while one process is replaced, until the test ends them."""

    def __init__(self, proxy: Proxy, clients: list[httpx.Client]) -> None:
        self.chats = [Chat(proxy, clients[number // CHATS_A_PERSON]) for number in range(CHATS)]

    async def outlives(self, deployment: Deployment, server: Server, end: asyncio.Event) -> None:
        """Replace ``server`` in the middle of the answers, and check that they continue."""
        reading = [await chat.begin() for chat in self.chats]
        await self._read_on(reading)
        server.process.send_signal(signal.SIGTERM)
        while sum(bool(chat.codes) for chat in self.chats) < CHATS // 4:  # about half of them were connected there
            await asyncio.sleep(0.05)
        await self._read_on(reading)
        assert server.process.poll() is None, "it keeps writing for the pages that have moved to the other process"
        end.set()
        await asyncio.gather(*reading)
        await asyncio.to_thread(server.process.wait, TIMEOUT_SECONDS)
        await asyncio.to_thread(deployment.start_again, server)

    async def _read_on(self, reading: list[asyncio.Task[None]]) -> None:
        await asyncio.gather(*(chat.reads_on(task) for chat, task in zip(self.chats, reading, strict=True)))


async def load_pages(proxy: Proxy, client: httpx.Client, answered: Counter[int]) -> None:
    """Load pages continuously until cancelled."""
    async with httpx.AsyncClient(base_url=proxy.url, cookies=client.cookies, trust_env=False, timeout=TIMEOUT_SECONDS) as browser:
        while True:
            for path in ("/", "/pages/help/"):
                answered[(await browser.get(path)).status_code] += 1
            await asyncio.sleep(0.1 if ROUNDS > 1 else 0.2)


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """A deployment without processes yet."""
    with own_database() as address:
        deployment = Deployment(
            tmp_path,
            CHATUI_DATABASE_URL=address,
            CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
            CHATUI_BACKEND_MODEL="stub",
            CHATUI_MAX_RUNNING_ANSWERS="1000",
            CHATUI_DRAIN_SECONDS=str(TIMEOUT_SECONDS),
        )
        yield deployment
        deployment.stop()


async def test_a_rolling_restart_cuts_no_answer_and_fails_no_page(deployment: Deployment, tmp_path: Path) -> None:
    end = asyncio.Event()
    answered: Counter[int] = Counter()
    waves: list[Wave] = []
    names = [f"person{number}" for number in range(CHATS // CHATS_A_PERSON + 1)]
    async with stub.running(lambda writer: counts_until(end, PAUSE)(writer)) as model:
        deployment.environment["CHATUI_BACKEND_URL"] = model.url
        for _ in range(2):
            await asyncio.to_thread(deployment.start)
        await asyncio.to_thread(lambda: deployment.make_people(**{name: (False, []) for name in names}))
        proxy = Proxy(tmp_path, deployment.servers)
        clients = [await asyncio.to_thread(signed_in, proxy, name) for name in names]
        loading = asyncio.create_task(load_pages(proxy, clients[0], answered))
        try:
            for server in list(deployment.servers):
                end = asyncio.Event()
                waves.append(Wave(proxy, clients))
                await asyncio.wait_for(waves[-1].outlives(deployment, server, end), TIMEOUT_SECONDS)
            assert not loading.done()
        finally:
            end.set()
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
            proxy.stop()
            for client in clients:
                client.close()
            await asyncio.to_thread(deployment.stop)
    assert set(answered) == {200} and answered[200] > 20, answered
    chats = [chat for wave in waves for chat in wave.chats]
    assert [chat.reader.end["state"] for chat in chats if chat.reader.end] == ["completed"] * len(chats)
    assert {code for chat in chats for code in chat.codes} == {1012}
    came_back = Counter(len(chat.codes) for chat in chats)
    assert came_back[0] + came_back[1] > len(chats) // 2, "most reconnect to the other process; the proxy may notice late"
    stored_answers = stored(deployment.environment["CHATUI_DATABASE_URL"])
    assert [stored_answers[chat.reader.accepted["conversation"]] for chat in chats] == [chat.reader.last_seen() for chat in chats]


def stored(database: str) -> dict[str, int]:
    """The last word of the stored answer in each conversation."""
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT DISTINCT state FROM chatui_turn").fetchall() == [("completed",)]
        rows = connection.execute("SELECT conversation_id, text FROM chatui_message WHERE channel = 'final'").fetchall()
    return {str(conversation): last_word(text) for conversation, text in rows}
