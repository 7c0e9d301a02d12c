"""Counts a socket's messages as they arrive, so that the queue stays bounded even while a command is slow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

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
        """The next message, in the order of arrival."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        return await self._arrived.get()

    def stop(self) -> None:
        """Stop reading messages."""
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
