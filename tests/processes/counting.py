"""A stub model that answers w1 w2 w3 … over real HTTP, and readers on real WebSockets that record what they have seen, and when."""

import asyncio
import contextlib
import itertools
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from tests.support.browser_socket import ENDS
from tests.support.served import LiveSocket
from tests.support.stub import DONE, SSE_HEAD, chunk

PAUSE = 0.02


def counts(words: int, pause: float = PAUSE) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Answers with some reasoning and then ``words`` words: w1 w2 w3 …"""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + chunk(reasoning_content="I will count."))
        started = time.monotonic()
        for number in range(1, words + 1):
            writer.write(chunk(content=f"w{number} "))
            await writer.drain()
            await asyncio.sleep(max(started + number * pause - time.monotonic(), 0))
        writer.write(chunk("stop") + DONE)
        await writer.drain()

    return answer


def counts_until(end: asyncio.Event, pause: float) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Like ``counts``, but until ``end`` is set, and at least one word."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + chunk(reasoning_content="I will count."))
        for number in itertools.count(1):
            writer.write(chunk(content=f"w{number} "))
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), pause)
            if end.is_set():
                break
        writer.write(chunk("stop") + DONE)
        await writer.drain()

    return answer


def last_word(text: str) -> int:
    """The number of the last word in a text, in which no word may be missing."""
    numbers = [int(number) for number in re.findall(r"\bw(\d+)\b", text)]
    assert numbers == list(range(1, len(numbers) + 1)), "a word is missing or repeated"
    return len(numbers)


class Reader:
    """A page that follows one answer. ``seen``: (monotonic time, last word shown then). ``end``: the event that ended it."""

    def __init__(self, socket: LiveSocket) -> None:
        self.socket = socket
        self._blocks: dict[tuple[str, int], str] = {}
        self.seen: list[tuple[float, int]] = []
        self.end: dict[str, Any] | None = None
        self.accepted: dict[str, Any] = {}

    async def ask(self, text: str = "Count, please.") -> None:
        """Ask, and follow the answer."""
        await self.socket.send("send", client_id=str(uuid4()), conversation=None, text=text, effort="low")
        self.accepted = (await self.socket.until("chatui:accepted", "chatui:refused"))[-1]
        assert self.accepted["type"] == "chatui:accepted", self.accepted
        await self.follow(self.socket)

    async def follow(self, socket: LiveSocket) -> None:
        """Follow the requested answer through this socket; the previous socket has closed or is no longer read."""
        self.socket = socket
        await socket.send("subscribe", conversation=self.accepted["conversation"])

    async def read(self) -> None:
        """Read until the answer or the connection ends."""
        while self.end is None:
            event = await self.socket.next()
            if event["type"] in (*ENDS, "chatui:idle"):
                self.end = event
            elif event["type"] == "chatui:snapshot":
                self._blocks = {(m["message_id"], i): html for m in event["messages"] for i, html in enumerate(m["blocks"])}
            elif "html" in event and "block" in event:
                self._blocks[event["message_id"], event["block"]] = event["html"]
            else:
                continue
            self.seen.append((time.monotonic(), last_word(" ".join(self._blocks.values()))))

    def last_seen(self, before: float = float("inf")) -> int:
        """The number of the last word shown by that time."""
        return max((word for at, word in self.seen if at <= before), default=0)

    def longest_pause(self, since: float, until: float) -> float:
        """The longest time without a new word, in seconds."""
        times = [since, *(at for at, _ in self.seen if since < at < until), until]
        return max(after - before for before, after in itertools.pairwise(times))


class Stalls:
    """The longest delay with which this process itself woke up: how much a busy machine delays everything that runs on it."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.02)
            self.worst = max(self.worst, time.monotonic() - before - 0.02)


@asynccontextmanager
async def stalls() -> AsyncIterator[Stalls]:
    """Measure how busy the machine is."""
    watched = Stalls()
    task = asyncio.create_task(watched.watch())
    try:
        yield watched
    finally:
        task.cancel()
