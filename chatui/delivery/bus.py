"""The message bus: sends messages to groups of receivers in this process at once, and in other processes through the relay.

There is one bus for each event loop. Sending never blocks: it uses no database, thread or network.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextvars import Context
from functools import partial
from uuid import uuid4
from weakref import WeakKeyDictionary

from chatui.delivery.relay import Relay, publish_once

log = logging.getLogger(__name__)

Message = Mapping[str, object]
Receive = Callable[[str, Message], None]
"""Called on the event loop with the group and the message. It must return at once."""

PROCESS = f"{socket.gethostname()[:30]}:{os.getpid()}:{uuid4().hex[:8]}"
"""The id of this process, for other processes and in leases."""


class Bus:
    """The groups of one event loop, and their receivers in this process."""

    def __init__(self) -> None:
        self._receivers: dict[str, dict[Receive, bool]] = {}
        self._relay = Relay(PROCESS, self._deliver)

    def join(self, group: str, receive: Receive, *, elsewhere: bool = True) -> None:
        """Receive a group's messages. ``elsewhere``: also those from other processes, once ``settled`` has returned."""
        self._receivers.setdefault(group, {})[receive] = elsewhere
        if elsewhere:
            self._relay.join(group)

    def leave(self, group: str, receive: Receive) -> None:
        """Stop receiving. Harmless for a group that was never joined."""
        receivers = self._receivers.get(group, {})
        receivers.pop(receive, None)
        if not any(receivers.values()):
            self._relay.leave(group)
        if not receivers:
            self._receivers.pop(group, None)

    async def settled(self) -> None:
        """Wait until messages from other processes to the joined groups arrive here; only briefly if the relay is down."""
        await self._relay.settled()

    def is_heard(self, group: str) -> bool:
        """Whether a group has receivers in this process."""
        return group in self._receivers

    @property
    def reaches_others(self) -> bool:
        """Whether there may be other processes."""
        return self._relay.is_on

    @property
    def is_late(self) -> bool:
        """Whether messages between processes are missing, because Redis does not answer."""
        return self._relay.is_late

    def send(self, group: str, message: Message, *, elsewhere: bool = True) -> None:
        """Send to a group. While the relay is down, other processes miss the message: their pages notice the gap and ask again."""
        self._deliver(group, message)
        if elsewhere:
            self._relay.send(group, message)

    def send_to(self, process: str, group: str, message: Message) -> None:
        """Send to the group of one process."""
        if process == PROCESS:
            self._deliver(group, message)
        else:
            self._relay.send_to(process, group, message)

    def _deliver(self, group: str, message: Message) -> None:
        for receive in tuple(self._receivers.get(group, ())):
            try:
                receive(group, message)
            except Exception as error:  # noqa: BLE001 - one receiver that fails must not keep the others from the message
                log.error("a receiver of %s failed: %s", group, type(error).__name__)


_buses: WeakKeyDictionary[asyncio.AbstractEventLoop, Bus] = WeakKeyDictionary()


def bus() -> Bus:
    """The bus of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _buses.get(loop)
    if found is None:
        found = _buses[loop] = Bus()
    return found


def send_from_thread(group: str, message: Message) -> None:
    """Send to a group from synchronous code, in a server or in a command. Best effort: while the relay is down, other processes miss it."""
    _send_here(group, message)
    publish_once(PROCESS, group, message)


def send_to_from_thread(process: str, group: str, message: Message) -> None:
    """As ``Bus.send_to``, from synchronous code."""
    if process == PROCESS:
        _send_here(group, message)
    else:
        publish_once(PROCESS, group, message, to=process)


def _send_here(group: str, message: Message) -> None:
    for loop, local in list(_buses.items()):
        if loop.is_running():
            # In a context of its own: this thread's context marks threads as busy, which does not apply to callbacks on the loop.
            loop.call_soon_threadsafe(partial(local.send, group, message, elsewhere=False), context=Context())
