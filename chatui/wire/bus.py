"""The message bus: sends messages to groups of receivers in this process at once, and in other processes through the relay.

Each audience has its own groups, so that hidden text is never sent to end users.

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
from uuid import UUID, uuid4
from weakref import WeakKeyDictionary

from chatui.wire import relay
from chatui.wire.relay import Relay
from renderer.gate import Audience

log = logging.getLogger(__name__)


def audience(conversation_id: UUID, audience: Audience) -> str:
    """The sockets of one audience that follow a conversation."""
    return f"conversation-{conversation_id}-{audience}"


def over(owner_id: UUID, audience: Audience) -> str:
    """The group over which that of an audience gets messages of other processes; empty for itself. People who follow a conversation are its
    owner, whose pages have joined the group ``person`` anyway."""
    return person(owner_id) if audience is Audience.END_USER else ""


def control(turn_id: UUID) -> str:
    """The group on which a running turn receives requests to stop or to send a snapshot. Only its own process knows it."""
    return f"turn-{turn_id}"


def turns_of(conversation_id: UUID) -> str:
    """Sockets that are notified, without any content, when a turn begins in a conversation."""
    return f"turns-of-{conversation_id}"


def person(person_id: UUID) -> str:
    return f"person-{person_id}"


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
        return group in self._receivers

    @property
    def reaches_others(self) -> bool:
        """Whether there may be other processes."""
        return self._relay.is_on

    @property
    def is_late(self) -> bool:
        """Whether messages between processes are missing, because Redis does not answer."""
        return self._relay.is_late

    def send(self, group: str, message: Message, *, elsewhere: bool = True, over: str = "") -> None:
        """Send to a group. While the relay is down, other processes miss the message: their pages notice the gap and ask again. ``over``: a
        group that every receiver has joined as well. Other processes get the message over that one, and need not subscribe to this."""
        self._deliver(group, message)
        if elsewhere:
            self.send_elsewhere(group, message, over)

    def send_elsewhere(self, group: str, message: Message, over: str = "") -> None:
        """Send to the receivers of a group in other processes, as ``send`` does."""
        self._relay.send(group, message, over=over)

    def send_to(self, process: str, group: str, message: Message) -> None:
        if process == PROCESS:
            self._deliver(group, message)
        else:
            self._relay.send(group, message, to=process)

    def _deliver(self, group: str, message: Message) -> None:
        for receive in tuple(self._receivers.get(group, ())):
            try:
                receive(group, message)
            except Exception as error:  # noqa: BLE001 - one receiver that fails must not keep the others from the message
                log.error("a receiver of %s failed: %s", group, type(error).__name__)


_buses: WeakKeyDictionary[asyncio.AbstractEventLoop, Bus] = WeakKeyDictionary()


def bus() -> Bus:
    loop = asyncio.get_running_loop()
    found = _buses.get(loop)
    if found is None:
        found = _buses[loop] = Bus()
    return found


def send_from_thread(group: str, message: Message, to: str = "") -> None:
    """Send to a group from synchronous code, in a server or in a command; ``to``: only to its receivers in this process. Best effort: while
    the relay is down, other processes miss it."""
    if to in ("", PROCESS):
        for loop, local in list(_buses.items()):
            if loop.is_running():
                # In a context of its own: this thread's context marks threads as busy, which does not apply to callbacks on the loop.
                loop.call_soon_threadsafe(partial(local.send, group, message, elsewhere=False), context=Context())
    if to != PROCESS:
        relay.publish_once(PROCESS, group, message, to=to)
