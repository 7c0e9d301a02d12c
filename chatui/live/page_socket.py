"""The base of a page's WebSocket: rate-limited commands in, bounded frames out, and one way to close.

Messages of other parts of the product arrive over the bus, which needs no task or thread per socket, and not over a channel layer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from chatui import wire
from chatui.env import environment
from chatui.live.inbound_queue import InboundQueue
from chatui.live.outbox import Outbox
from renderer.errors import ErrorCode

CLOSE_TOO_SLOW = 4413
MAX_SIGNAL_CHARS = 100
"""No probe or pong is longer, so longer messages need not be parsed twice."""


class PageSocket(AsyncWebsocketConsumer):
    """Call ``begin`` when the socket connects. ``release`` is called however the socket ends, and may be called before that.

    ``is_admitted``: set once the person is known to be signed in."""

    is_admitted = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """See Channels, which would start a task for each message, to wait for a channel layer at the same time. However the socket ends,
        even by an error or a timeout of the server, its resources are released."""
        self.scope, self.base_send = scope, send
        queue = InboundQueue(receive, self.take_at_once)
        try:
            with contextlib.suppress(StopConsumer):
                while True:
                    await self.dispatch(await queue.next())
        finally:
            queue.stop()
            self.release()

    def take_at_once(self, text: str) -> bool:
        """Answer a probe and note a pong as they arrive, even while a question before them waits for the database: the page would take the
        connection for lost. Returns whether it was one."""
        if len(text) > MAX_SIGNAL_CHARS or not self.is_admitted or self.is_closing:
            return False
        try:
            return self.take_signal(wire.read_command(text))
        except wire.UnreadableCommandError:
            return False

    def take_signal(self, command: wire.Command) -> bool:
        """Handle a command that is only about the connection. Returns whether it was one."""
        match command:
            case wire.Pong():
                self.outbox.confirmed(command.number)
            case wire.Probe():
                self.send_event(wire.Alive())
            case _:
                return False
        return True

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler of an ASGI message. Channels would first check for old database connections, in one thread for all sockets."""
        await getattr(self, get_handler_name(message))(message)

    @property
    def is_of_another_release(self) -> bool:
        """Whether the page is from a release with another protocol version. Clients that are not pages need not send one."""
        version = self.query_value("protocol")
        return bool(version) and version != str(wire.PROTOCOL)

    def query_value(self, name: str) -> str:
        """A parameter from the query string of the socket's address."""
        return ",".join(parse_qs(self.scope["query_string"].decode("ascii", "replace")).get(name, []))

    def begin(self, caught_up: Callable[[], None]) -> None:
        """Prepare the socket for sending. ``caught_up``: see Outbox."""
        self.is_closing = False
        self._background_tasks: set[asyncio.Task[Any]] = set()
        self._context = copy_context()
        self.outbox = Outbox(self._transmit, caught_up, self._give_up)

    def release(self) -> None:
        """Release the socket's resources."""
        self.is_closing = True
        for task in getattr(self, "_background_tasks", ()):
            task.cancel()

    async def _transmit(self, frame: str) -> None:
        message: Any = {"type": "websocket.send", "text": frame}
        with contextlib.suppress(Exception):  # the page is gone; the server reports the disconnect separately
            await self.base_send(message)

    def _give_up(self) -> None:
        if not self.is_closing:
            self.start_background(self.leave(CLOSE_TOO_SLOW))

    def send_event(self, event: wire.Event) -> None:
        """Send one event."""
        self.outbox.put(wire.encode([event]))

    def refuse(self, client_id: str | None, code: ErrorCode, until: datetime | None = None) -> None:
        """Refuse a command with ``code``; the page has the sentence for it. ``until``: when a usage limit ends."""
        contact = environment().usage_contact or None
        self.send_event(wire.Refused(client_id, code, until.isoformat(), contact) if until else wire.Refused(client_id, code))

    async def close_with(self, code: ErrorCode, close_code: int) -> None:
        """Send the reason, and close."""
        if not self.is_closing:
            self.send_event(wire.Closing(code))
            await self.leave(close_code)

    async def leave(self, close_code: int) -> None:
        """Send the waiting frames, and close. Further calls do nothing."""
        if not self.is_closing:
            self.is_closing = True
            await self.outbox.flush()
            with contextlib.suppress(Exception):  # the page may be gone already
                await self.close(code=close_code)

    def start_background(self, work: Coroutine[Any, Any, object]) -> None:
        """Run a task in the background, until the socket ends."""
        # In the socket's own context, not in that of the task that sent the message.
        task = asyncio.create_task(work, context=self._context.copy())
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)
