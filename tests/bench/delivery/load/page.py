"""One page of the load: it asks, reads the events, and records the delay of each word."""

import asyncio
import time

from tests.bench.delivery.load import stamps
from tests.bench.delivery.load.dialects import DIALECTS, FrameContent
from tests.bench.delivery.load.event_stream import EventStream
from tests.bench.delivery.load.job import Job
from tests.bench.delivery.load.websocket import WebSocket
from tests.bench.delivery.turn_counts import TurnCounts

SILENT_SECONDS = 60.0
AHEAD = 10_000
"""By how many ticks a word may be ahead of the clock: a model server that catches up sends many at once, each with a separate tick."""
QUIET_SECONDS = 0.3
"""How long what is counted still belongs to a turn that has ended."""


class Page:
    """``open`` it, then let it ``chat``. All other attributes are results."""

    def __init__(self, job: Job, cookie: str, counts: TurnCounts | None) -> None:
        self._job = job
        self._cookie = cookie
        self._counts = counts
        self._dialect = DIALECTS[job.dialect]()
        self._ended = asyncio.Event()
        connects = EventStream if job.dialect == "program" else WebSocket
        self.socket: EventStream | WebSocket = connects(self._take, self._ended.set)
        self._fetching: set[asyncio.Task[None]] = set()
        self._words = 0
        self._before: dict[str, int] = {}
        self.counted: list[dict[str, int]] = []
        self.delays: list[float] = []
        self.firsts: list[float] = []
        self.waits: list[float] = []
        self.first_statements: list[int] = []
        self.frames = self.fetched = self.missed = 0
        self.faults: list[str] = []

    async def open(self) -> None:
        """Connect. Raises ConnectionError if the server refuses."""
        headers = {"Authorization" if self._job.dialect == "program" else "Cookie": self._cookie}
        if self._job.deflate:
            headers["Sec-WebSocket-Extensions"] = "permessage-deflate; client_no_context_takeover"
        await self.socket.open(self._job.port, self._dialect.path, headers)

    async def chat(self, wait: float) -> None:
        """Ask, ``wait`` seconds from now, and listen until the last answer has ended."""
        await asyncio.sleep(wait)
        for _ in range(self._job.turns):
            if not self.faults:
                await self._turn()
        await asyncio.gather(*self._fetching)

    async def _turn(self) -> None:
        self._words = 0
        self._ended.clear()
        self._finder = stamps.WordFinder(stamps.now())
        self._before = self._counts.values if self._counts else {}
        self._asked = time.monotonic()
        self.socket.send(self._dialect.ask(f"tokens={self._job.tokens} rate={self._job.rate}"))
        try:
            if self.socket.closed:
                self._ended.set()
            await asyncio.wait_for(self._ended.wait(), self._job.tokens / self._job.rate + SILENT_SECONDS)
        except TimeoutError:
            self.faults.append(f"no end within {SILENT_SECONDS:.0f} s")
        if self.socket.closed:
            self.faults.append(f"the socket was {self.socket.closed}")
        if self._words != self._job.tokens:
            self.faults.append(f"{self._words} words instead of {self._job.tokens}")
        if self._counts:
            await asyncio.gather(*self._fetching)
            await asyncio.sleep(QUIET_SECONDS)
            self.counted.append({name: value - self._before[name] for name, value in self._counts.values.items()})

    def _take(self, text: str, received: float) -> None:
        content = self._dialect.read(text)
        for reply in content.replies:
            self.socket.send(reply)
        if content.text:
            self._measure(content, received)
        if content.fault:
            self.faults.append(content.fault)
        for path in content.fetches if self._job.fetches else ():
            task = asyncio.create_task(self._fetch(path))
            self._fetching.add(task)
            task.add_done_callback(self._fetching.discard)
        if content.is_missed and not self._ended.is_set():
            self.missed += 1
            self._words = self._job.tokens
        if content.has_ended:
            self._ended.set()

    def _measure(self, content: FrameContent, received: float) -> None:
        now = int(received / stamps.TICK)
        delays = [max(0, now - tick) * stamps.TICK for tick in self._finder.feed(content.text, now + AHEAD)]
        if not delays:
            return
        self.frames += 1
        if not self._words:
            self.firsts.append(delays[0])
            self.waits.append(received - self._asked)
            if self._counts:
                self.first_statements.append(self._counts.values["statements"] - self._before["statements"])
        self._words += len(delays)
        self.delays += delays

    async def _fetch(self, path: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._job.port)
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self._job.port}", f"Cookie: {self._cookie}", "Accept-Encoding: gzip"]
        writer.write("\r\n".join([*lines, "X-Requested-With: fetch", "Connection: close", "", ""]).encode())
        page = await reader.read(-1)
        writer.close()
        self.fetched += len(page)
        if not page.startswith(b"HTTP/1.1 200"):
            self.faults.append(f"a fetch was answered with {page[:15]!r}")
