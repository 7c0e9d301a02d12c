"""The snapshots that a socket waits for. They are asked of the turn's process until they arrive.

If that is another process and nothing is heard of it, because Redis is away, the page gets the answer as it is stored in the meantime.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from chatui import wire
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.delivery.bus import PROCESS, bus
from chatui.live.commands import Following
from chatui.turns import publisher, running
from chatui.turns.streams import stored
from renderer.gate import Audience

SNAPSHOT_SECONDS, MAX_SNAPSHOT_SECONDS = 1.5, 6.0
"""The pauses before a snapshot that has not arrived is asked for again: the first, and the longest."""
STORED_SECONDS = 1.0
"""The shortest time between two reads of the stored answer."""
SHARE = 10
"""Of ten seconds, a page's reads take at most one: a process with many such pages reads less often."""
SILENT_SECONDS = 0.9
"""A page that heard of the turn within this time may show more than is stored."""
RUNNING_SECONDS = 3 * publisher.BEAT_SECONDS
"""A turn that was heard of within this time was running."""


class Follower(Protocol):
    """The socket."""

    def following(self, audience: Audience) -> Following | None:
        """What it follows now."""

    async def follow_again(self, audience: Audience) -> None:
        """Check access, read where the turn runs, and ask for its snapshot."""

    def start_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task until the socket ends."""

    def send_event(self, event: wire.Event) -> None:
        """Send one event."""


class Snapshots:
    """Those of one socket. ``group``: its own, to which they are sent."""

    def __init__(self, socket: Follower, group: str) -> None:
        self._socket = socket
        self._group = group
        self._awaited: set[Audience] = set()
        self._retrying: set[Audience] = set()
        self._heard_at = float("-inf")
        self._stored: wire.Snapshot | None = None

    def ask(self, audience: Audience) -> None:
        """Ask the process that runs the followed turn for a snapshot."""
        following = self._socket.following(audience)
        if following is not None and following.running is not None:
            running.ask_snapshot(following.running, audience, self._group)
            self.wait(audience)

    def ask_again(self, conversation: str) -> bool:
        """Ask again, without the database, for a snapshot that the page awaits. False if it awaits none of this conversation."""
        following = self._socket.following(Audience.END_USER)
        if following is None or following.running is None or str(following.conversation_id) != conversation:
            return False
        is_awaited = self.is_awaited(Audience.END_USER)
        if is_awaited:
            self.ask(Audience.END_USER)
        return is_awaited

    def wait(self, audience: Audience) -> None:
        """Read the turn's state again until a snapshot arrives: its process may have ended or died since."""
        self._awaited.add(audience)
        if audience not in self._retrying:
            self._retrying.add(audience)
            self._socket.start_background(self._retry(audience, 0.0 if bus().is_late else SNAPSHOT_SECONDS))

    def drop(self, audience: Audience) -> None:
        """The snapshot has arrived, or is no longer needed."""
        self._awaited.discard(audience)
        self._stored = None

    def is_awaited(self, audience: Audience) -> bool:
        """Whether a followed turn's snapshot has not arrived yet."""
        return audience in self._awaited and self._socket.following(audience) is not None

    def note_events(self) -> None:
        """The page got events of the followed turn."""
        self._heard_at = asyncio.get_running_loop().time()

    def note_late(self) -> None:
        """Redis does not answer: if the page follows a turn of another process, its events are missing from now on."""
        # A turn that began after the page was opened is known by its events alone.
        if self._is_elsewhere() or self._is_heard(RUNNING_SECONDS):
            self.wait(Audience.END_USER)

    async def _retry(self, audience: Audience, pause: float) -> None:
        loop = asyncio.get_running_loop()
        try:
            await asyncio.sleep(pause)
            while self.is_awaited(audience):
                began = loop.time()
                self._awaited.discard(audience)
                await self._socket.follow_again(audience)
                has_stored = audience is Audience.END_USER and await self._show_stored()
                again = SHARE * (loop.time() - began)
                pause = max(STORED_SECONDS, again) if has_stored or bus().is_late else max(SNAPSHOT_SECONDS, 2 * pause)
                await asyncio.sleep(pause := min(pause, MAX_SNAPSHOT_SECONDS))
        finally:
            self._retrying.discard(audience)

    def _is_elsewhere(self) -> bool:
        following = self._socket.following(Audience.END_USER)
        return following is not None and following.running is not None and following.running.process != PROCESS

    async def _show_stored(self) -> bool:
        """Send the stored answer, if that is all there is. Returns whether it was read."""
        following = self._socket.following(Audience.END_USER)
        if following is None or following.running is None or not self._is_elsewhere() or self._is_heard(SILENT_SECONDS):
            return False
        try:
            answer = await pools.commands.run_or_busy(stored.stored_answer, following.running.turn_id)
        except DatabaseBusyError:
            return False  # the page shows what it has until the database is back
        if answer is None:
            return False
        snapshot = stored.snapshot_of(answer, await publisher.rendered(answer.frames, pages=answer.pages))
        # Meanwhile the page may have got a snapshot, or opened another conversation.
        is_wanted = self.is_awaited(Audience.END_USER) and self._socket.following(Audience.END_USER) is following
        if is_wanted and not self._is_heard(SILENT_SECONDS) and snapshot != self._stored:
            self._stored = snapshot
            self._socket.send_event(snapshot)
        return True

    def _is_heard(self, seconds: float) -> bool:
        return asyncio.get_running_loop().time() - self._heard_at < seconds
