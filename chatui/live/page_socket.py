"""The queues of a page's WebSocket: rate-limited commands in, bounded frames out.

A socket's messages are counted as they arrive, so that the queue stays bounded even while a command is slow. The outgoing queue is ordered
and bounded as well: a slow page skips events and never fills the server's memory. Each frame is a JSON array of events. Short frames that
wait together, such as those about the end of an answer, are merged.

An ASGI server accepts everything and buffers it for a slow page, so the page confirms what it has read: after every PING_CHARS it gets a
ping, and answers it. While too much is unconfirmed, events of turns are dropped, and a snapshot follows once the page has caught up. A page
that reads nothing but keeps sending commands is disconnected.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from chatui import wire

Receive = Callable[[], Awaitable[dict[str, Any]]]

COMMANDS_PER_SECOND = 10.0
COMMANDS_BURST = 30.0
CHARS_A_COMMAND = 64 * 1024
"""A longer message counts as several commands."""

TOO_FAST = "\x00too fast"
"""Replaces the message that exceeded the rate, and all later ones. It cannot be a command, because it is not JSON."""


class InboundQueue:
    """The messages of one socket. ``next`` is the ASGI application's ``receive``."""

    def __init__(self, receive: Receive, take: Callable[[str], bool]) -> None:
        """``take`` is called with the text of each message as it arrives, and returns whether that was all: then it is not queued."""
        self._receive = receive
        self._take = take
        self._arrived: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._reading: asyncio.Task[None] | None = None
        self._allowance = COMMANDS_BURST
        self._last = asyncio.get_running_loop().time()
        self._is_too_fast = False

    async def next(self) -> dict[str, Any]:
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        return await self._arrived.get()

    def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive" or self._is_within_rate(message):
                if not self._take(message.get("text") or ""):
                    self._arrived.put_nowait(message)
            elif not self._is_too_fast:
                self._is_too_fast = True
                self._arrived.put_nowait({"type": "websocket.receive", "text": TOO_FAST})

    def _is_within_rate(self, message: dict[str, Any]) -> bool:
        now = asyncio.get_running_loop().time()
        self._allowance = min(COMMANDS_BURST, self._allowance + (now - self._last) * COMMANDS_PER_SECOND)
        self._last = now
        size = len(message.get("text") or message.get("bytes") or "")
        self._allowance -= 1 + size // CHARS_A_COMMAND
        return self._allowance >= 0 and not self._is_too_fast


PING_CHARS = 64 * 1024
MAX_UNREAD = 512 * 1024
MAX_JOINED = 8 * 1024
MAX_EVER = 16 * 1024 * 1024
"""Replies are never dropped, so a page with this much unread is disconnected: it sends commands, but does not read."""


class Outbox:
    """The outbox of one socket. It sends events in the step that made them, and a reply at the latest in the next one, so that both share a
    frame if they are made together."""

    def __init__(self, send: Callable[[str], None], caught_up: Callable[[], None], given_up: Callable[[], None]) -> None:
        """``caught_up`` is called when events were dropped and there is room again, ``given_up`` if more than MAX_EVER is unread."""
        self._send = send
        self._caught_up = caught_up
        self._given_up = given_up
        self._waiting: deque[str] = deque()
        self._waiting_chars = 0
        self._sent = self._pinged = self._confirmed = 0
        self._is_behind = False

    def put(self, frame: str) -> None:
        """Send a reply to a command, or anything else that must arrive."""
        if not self._waiting:  # otherwise that is done already
            asyncio.get_running_loop().call_soon(self.flush)
        self._add(frame)
        if self._unread > MAX_EVER:
            self._given_up()

    def put_events(self, frame: str) -> None:
        """Send events of a turn, or a snapshot, unless the page is too far behind. A page that keeps up gets frames of any size."""
        if not self._is_behind and self.has_room:
            self._add(frame)
            self.flush()
        else:
            self.wait_for_page()

    @property
    def has_room(self) -> bool:
        """Whether the page has read enough for more events."""
        return self._unread <= MAX_UNREAD // 2

    def wait_for_page(self) -> None:
        """Drop events until the page has caught up."""
        if not self._is_behind:
            self._is_behind = True
            self._ping()  # otherwise there may be no ping left for it to answer
            self.flush()

    def confirmed(self, number: int) -> None:
        """The page has read everything up to the ping with this number."""
        self._confirmed = max(self._confirmed, min(number, self._sent))
        if self._is_behind and self.has_room:
            self._is_behind = False
            self._caught_up()

    def flush(self) -> None:
        """Send what waits."""
        while self._waiting:
            frame = self._next()
            self._sent += len(frame)
            self._send(frame)
            if self._sent - self._pinged >= PING_CHARS:
                self._ping()

    def _next(self) -> str:
        """The next frame, merged with short ones after it, because sending a frame costs more than building it."""
        frame = self._waiting.popleft()
        self._waiting_chars -= len(frame)
        while self._waiting and len(frame) + len(self._waiting[0]) <= MAX_JOINED:
            more = self._waiting.popleft()
            self._waiting_chars -= len(more)
            frame = f"{frame[:-1]},{more[1:]}"
        return frame

    def _ping(self) -> None:
        # Sent after all waiting frames, so once it is answered, the page has read all of them.
        self._pinged = self._sent + self._waiting_chars
        self._add(wire.encode([wire.Ping(self._pinged)]))

    def _add(self, frame: str) -> None:
        self._waiting.append(frame)
        self._waiting_chars += len(frame)

    @property
    def _unread(self) -> int:
        return self._sent - self._confirmed + self._waiting_chars
