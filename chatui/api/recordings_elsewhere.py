"""Follows a recording of another process, and serves the recordings of this process to others.

Processes only exchange the events of a reader's stream. The process that serves the stream checks the key; the one with the recording only
reports whether it contains raw reasoning.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from uuid import UUID, uuid4

from chatui.api import recordings
from chatui.api.recordings import Recording
from chatui.api.response_events import Event
from chatui.wire.bus import PROCESS, Message, bus

GROUP = "recordings"
"""The group for other processes' requests for recordings of this one."""
ANSWER_SECONDS = 10.0
"""How long the other process may take to report whether it has a recording: it may be busy."""
ASK_SECONDS = 1.0
"""The interval at which it is asked: until both processes are connected to Redis, messages are lost."""
WAIT_SECONDS = 5.0
"""How long it waits for news before it replies that there are none."""
SILENT_SECONDS = 20.0
"""After this long without a reply, it is considered gone."""
PAUSE_SECONDS = 0.2
"""Between two requests for what is being written: each makes the other process go through the whole recording."""
MAX_EVENTS = 500
"""The most in one reply."""


class LostError(Exception):
    """The other process is silent. It may be busy or dead. Or it no longer has the recording that is followed."""


class FollowedElsewhere:
    """A recording in another process, with the same interface for readers as ``Recording``. Its process is asked again and again for what
    comes after a number, so a slow reader is sent no more than it reads, and a lost message is only asked for again.
    """

    def __init__(self, key: UUID, process: str, owner_id: UUID, *, views_hidden: bool) -> None:
        self._key, self._process = key, process
        self.owner_id = owner_id
        self.views_hidden = views_hidden

    async def follow(self, after: int, wait: Callable[[], float]) -> AsyncGenerator[Event | None, None]:
        """See ``Recording.follow``. Raises LostError."""
        recordings.readers[self.owner_id] += 1
        loop = asyncio.get_running_loop()
        try:
            async with _Channel(self._process, self._key) as channel:
                is_over, replied_at = False, loop.time()
                while not is_over:
                    reply = await channel.ask(after, min(wait(), WAIT_SECONDS + ASK_SECONDS))
                    if reply is None:
                        if loop.time() - replied_at >= SILENT_SECONDS:
                            raise LostError
                        yield None
                        continue
                    if not isinstance(events := reply.get("events"), list):
                        raise LostError
                    is_over = bool(reply.get("is_over"))
                    for body in events:
                        yield body
                        after = int(body["sequence_number"])
                    if not events:
                        yield None
                    elif not is_over and len(events) < MAX_EVENTS:
                        await asyncio.sleep(PAUSE_SECONDS)
                    replied_at = loop.time()
        finally:
            recordings.readers[self.owner_id] -= 1


class _Channel:
    """Questions to one other process about one recording, and its private replies."""

    def __init__(self, process: str, key: UUID) -> None:
        self._process, self._key = process, key
        self._reply = f"{GROUP}-{uuid4().hex}"
        self._replies: asyncio.Queue[Message] = asyncio.Queue()

    async def __aenter__(self) -> _Channel:
        bus().join(self._reply, self._receive)
        try:
            await bus().settled()
        except BaseException:  # the caller was cancelled
            bus().leave(self._reply, self._receive)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        bus().leave(self._reply, self._receive)

    async def ask(self, after: int | None, seconds: float) -> Message | None:
        """The events after this number; without one, only whether the process has the recording. None if no reply comes in time."""
        bus().send_to(self._process, GROUP, {"key": str(self._key), "after": after, "reply": self._reply, "to": PROCESS})
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    reply = await self._replies.get()
                    if reply.get("after") == after:  # else it is a late reply to an earlier question
                        return reply
        return None

    def _receive(self, _group: str, message: Message) -> None:
        self._replies.put_nowait(message)


async def find(key: UUID, process: str, owner_id: UUID) -> FollowedElsewhere | None:
    """The recording of a response that ``process`` writes or has written. None if it no longer has it.

    Raises:
        LostError: the process does not answer. It may be busy or dead.
    """
    if not process or process == PROCESS:
        return None
    if bus().reaches_others:
        loop = asyncio.get_running_loop()
        async with _Channel(process, key) as channel:
            until = loop.time() + ANSWER_SECONDS
            while loop.time() < until:
                if reply := await channel.ask(None, ASK_SECONDS):
                    views_hidden = reply.get("views_hidden")
                    return FollowedElsewhere(key, process, owner_id, views_hidden=views_hidden) if isinstance(views_hidden, bool) else None
    raise LostError


_replying: set[asyncio.Task[None]] = set()


def _receive(_group: str, message: Message) -> None:
    task = asyncio.create_task(_reply(message))
    _replying.add(task)  # the event loop keeps only a weak reference
    task.add_done_callback(_replying.discard)


async def _reply(message: Message) -> None:
    """Serve a recording of this process to another process."""
    after, group, process = message.get("after"), message.get("reply"), message.get("to")
    if not isinstance(group, str) or not isinstance(process, str):
        return
    recording = recordings.recording_of(UUID(str(message.get("key"))))
    if recording is None:
        reply: dict[str, object] = {"gone": True}
    elif isinstance(after, int):
        events, is_over = await _events_after(recording, after)
        reply = {"events": events, "is_over": is_over}
    else:
        reply = {"views_hidden": recording.views_hidden}
    bus().send_to(process, group, {"after": after, **reply})


async def _events_after(recording: Recording, after: int) -> tuple[list[Event], bool]:
    """What there is, or what comes within some time; and whether the response has ended."""
    events: list[Event] = []
    now = asyncio.get_running_loop().time
    until = now() + WAIT_SECONDS
    async with aclosing(recording.follow(after, lambda: 0.0 if events else max(until - now(), 0.0))) as following:
        async for body in following:
            if body is not None:
                events.append(body)
            if len(events) >= MAX_EVENTS or (body is None and (events or now() >= until)):
                return events, False
    return events, True


def listen() -> None:
    """Let other processes follow what is recorded on the running event loop. May be called again."""
    if not bus().is_heard(GROUP):
        bus().join(GROUP, _receive)
