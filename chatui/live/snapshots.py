"""The snapshots that a socket waits for. They are asked of the turn's process until they arrive.

If that is another process and nothing is heard of it, because Redis is away, the page gets the answer as it is stored in the meantime.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Coroutine
from typing import Any, Protocol

from chatui import wire
from chatui.database.faults import DatabaseBusyError
from chatui.live import stored_answers
from chatui.live.commands import Following
from chatui.live.stored_answers import WrittenAnswer
from chatui.turns import publisher, running
from chatui.wire.bus import PROCESS, bus
from renderer.gate import Audience

log = logging.getLogger(__name__)

SNAPSHOT_SECONDS, MAX_SNAPSHOT_SECONDS = 1.5, 6.0
"""The pauses before a snapshot that has not arrived is asked for again: the first, and the longest."""
STORED_SECONDS = 1.0
"""The shortest time between two reads of the stored answer."""
SHARE = 10
"""A page's reads take at most one second of ten: a process with many such pages reads less often."""
SPREAD_SECONDS = 0.4
"""The pages of a process do not all read at the same moment, which would hold up other people's text."""
SILENT_SECONDS = 0.9
"""A page that heard of the turn within this time may show more than is stored."""
WRITE_SECONDS = 0.25
"""How much older than its lease the text of a turn may be: it is collected before it is written."""
RUNNING_SECONDS = 3 * publisher.BEAT_SECONDS
"""A turn that was heard of within this time was running."""


class Follower(Protocol):
    """The socket."""

    def following(self, audience: Audience) -> Following | None: ...

    async def follow_again(self, audience: Audience) -> bool:
        """Check access, read where the turn runs, and ask for its snapshot. Returns whether access was checked, and is allowed."""

    def start_background(self, work: Coroutine[Any, Any, object]) -> None: ...

    def send_event(self, event: wire.Event) -> None: ...


class Snapshots:
    """Those of one socket. ``group``: its own, to which they are sent."""

    def __init__(self, socket: Follower, group: str) -> None:
        self._socket = socket
        self._group = group
        self._awaited: set[Audience] = set()
        self._retrying: set[Audience] = set()
        self._heard_at = float("-inf")
        self._shown: tuple[wire.MessageSoFar, ...] | None = None
        """What the page got last, if that was stored."""

    def ask(self, audience: Audience) -> None:
        following = self._socket.following(audience)
        if following is not None and following.running is not None:
            self.wait(audience)  # first: a turn of this process sends it at once
            running.ask_snapshot(following.running, audience, self._group)

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
            pause = SPREAD_SECONDS * random.random() if bus().is_late else SNAPSHOT_SECONDS  # noqa: S311 - no secret
            self._socket.start_background(self._retry(audience, pause))

    def drop(self, audience: Audience) -> None:
        """The snapshot has arrived, or is no longer needed."""
        self._awaited.discard(audience)
        if audience is Audience.END_USER:
            self._shown = None

    def is_awaited(self, audience: Audience) -> bool:
        return audience in self._awaited and self._socket.following(audience) is not None

    def note_events(self) -> None:
        self._shown = None
        self._heard_at = asyncio.get_running_loop().time()

    def note_late(self) -> None:
        """Redis does not answer: if the page follows a turn of another process, its events are missing from now on."""
        # A turn that began after the page was opened is known by its events alone.
        following = self._socket.following(Audience.END_USER)
        place = following.running if following is not None else None
        if (place is not None and place.process != PROCESS) or self._is_heard(RUNNING_SECONDS):
            self.wait(Audience.END_USER)

    async def _retry(self, audience: Audience, pause: float) -> None:
        loop = asyncio.get_running_loop()
        try:
            await asyncio.sleep(pause)
            while self.is_awaited(audience):
                began = loop.time()
                self._awaited.discard(audience)
                is_allowed = await self._socket.follow_again(audience)
                is_read = is_allowed and audience is Audience.END_USER and await self._show_stored()
                again = SHARE * (loop.time() - began)
                pause = max(STORED_SECONDS, again) if is_read else max(SNAPSHOT_SECONDS, 2 * pause)
                await asyncio.sleep(pause := min(pause, MAX_SNAPSHOT_SECONDS))
        finally:
            self._retrying.discard(audience)

    async def _show_stored(self) -> bool:
        """Send the stored answer, if that is all there is. Returns whether it is worth while to read it again soon."""
        following = self._socket.following(Audience.END_USER)
        if following is None or following.running is None or following.running.process == PROCESS:
            return False
        if self._is_heard(SILENT_SECONDS):
            return bus().is_late
        try:
            read = await stored_answers.read_stored(following.running.turn_id)
        except DatabaseBusyError:
            return False  # the page shows what it has until the database is back
        except Exception as error:  # noqa: BLE001 - as above; the retries must go on
            log.error("a stored answer could not be read: %s", type(error).__name__)
            return False
        if read is not None and self._is_wanted(read, following):
            self._shown = read.snapshot.messages
            self._socket.send_event(read.snapshot)
        return read is not None or bus().is_late

    def _is_wanted(self, read: WrittenAnswer, following: Following) -> bool:
        """Whether the page shows something else. Meanwhile it may have got events or a snapshot, or have opened another conversation."""
        if not self.is_awaited(Audience.END_USER) or self._socket.following(Audience.END_USER) is not following:
            return False
        # Text that is older than what the page has heard of may lack its end.
        if read.written_at < self._heard_at + WRITE_SECONDS or read.snapshot.messages == self._shown:
            return False
        return read.answer.has_answer or read.answer.has_withdrawn or self._shown is not None

    def _is_heard(self, seconds: float) -> bool:
        return asyncio.get_running_loop().time() - self._heard_at < seconds
