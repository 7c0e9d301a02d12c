"""The outgoing queue of one page, ordered and bounded: a slow page skips ahead and never fills the server's memory.

Each frame is a JSON array of events. Short ones that wait together, such as those about the end of an answer, are sent as one.

A server may take whatever is sent and let it wait for a slow page. So the page confirms what it has read: after every PING_CHARS it is sent
a ping, and answers it. While more than MOST_UNREAD is unconfirmed, events of turns are left out, and a snapshot follows once the page
has caught up. A page that reads nothing at all and goes on asking is given up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from chatui import wire

PING_CHARS = 64 * 1024
MOST_UNREAD = 512 * 1024
MOST_JOINED = 8 * 1024
MOST_EVER = 16 * 1024 * 1024
"""Replies are never left out, so a page with so much unread is closed: it asks, and does not read."""


class Outbox:
    """One for each socket. ``pump`` is its task; everything else returns at once."""

    def __init__(self, send: Callable[[str], Awaitable[None]], caught_up: Callable[[], None], given_up: Callable[[], None]) -> None:
        """``caught_up`` is called when something was left out and can be sent again, ``given_up`` where MOST_EVER is unread."""
        self._send = send
        self._caught_up = caught_up
        self._given_up = given_up
        self._waiting: deque[str] = deque()
        self._waiting_chars = 0
        self._news = asyncio.Event()
        self._sent = self._pinged = self._confirmed = 0
        self._is_behind = False

    def put(self, frame: str) -> None:
        """Send a reply to a command, or anything else that must arrive."""
        self._waiting.append(frame)
        self._waiting_chars += len(frame)
        self._news.set()
        if self._unread > MOST_EVER:
            self._given_up()

    def put_events(self, frame: str) -> None:
        """Send events of a turn, or a snapshot, unless the page is too far behind. A page that keeps up is sent also what is large."""
        if not self._is_behind and self.has_room:
            self.put(frame)
        else:
            self.wait_for_page()

    @property
    def has_room(self) -> bool:
        """Whether the page has read enough for more events."""
        return self._unread <= MOST_UNREAD // 2

    def wait_for_page(self) -> None:
        """Leave events out until the page has caught up."""
        if not self._is_behind:
            self._is_behind = True
            self._ping()  # else there may be none left that it could answer

    def confirmed(self, number: int) -> None:
        """The page has read everything up to the ping with this number."""
        self._confirmed = max(self._confirmed, min(number, self._sent))
        if self._is_behind and self.has_room:
            self._is_behind = False
            self._caught_up()

    async def pump(self) -> None:
        """Send what waits. Runs until it is cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.flush()

    async def flush(self) -> None:
        """Send all that waits now."""
        while self._waiting:
            frame = self._next()
            self._sent += len(frame)
            await self._send(frame)
            if self._sent - self._pinged >= PING_CHARS:
                self._ping()

    def _next(self) -> str:
        """The next frame, joined with short ones behind it: to send a frame costs more than to write it."""
        frame = self._waiting.popleft()
        self._waiting_chars -= len(frame)
        while self._waiting and len(frame) + len(self._waiting[0]) <= MOST_JOINED:
            more = self._waiting.popleft()
            self._waiting_chars -= len(more)
            frame = f"{frame[:-1]},{more[1:]}"
        return frame

    def _ping(self) -> None:
        # Sent after what waits now, so by the time that it is answered all of that is read.
        self._pinged = self._sent + self._waiting_chars
        self._waiting.append(wire.encode([wire.Ping(self._pinged)]))
        self._waiting_chars += len(self._waiting[-1])
        self._news.set()

    @property
    def _unread(self) -> int:
        return self._sent - self._confirmed + self._waiting_chars
