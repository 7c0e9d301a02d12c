"""Relays messages of the bus to other processes, over Redis publish/subscribe.

Without CHATUI_REDIS_URL there are no other processes, and the relay does nothing. If Redis is down or silent, messages are lost, but
nothing waits for it; the log has one line per outage. A page that misses an event notices the gap in the numbers and asks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import TYPE_CHECKING, Any

from chatui.env import environment

if TYPE_CHECKING:
    import redis.asyncio

log = logging.getLogger(__name__)

OWN_PROCESS = "process"
"""The group of all sockets of a process. Messages to it are not relayed."""

Deliver = Callable[[str, Mapping[str, object]], None]

ANSWER_SECONDS = 2.0
"""The timeout of every Redis operation."""
PING_SECONDS = 0.5
LATE_SECONDS = 1.5
"""After this time without an answer, the sockets of this process are told that messages are missing."""
STALL_SECONDS = 0.2
"""The last part of it, in which a process that stood still itself can still read the answer."""
PAUSE_SECONDS = 0.5
"""Between two attempts to reconnect."""
MAX_WAITING = 10_000
"""The most messages in the send queue; the oldest are dropped."""


class Relay:
    """Relays messages for one event loop. All but ``settled`` are synchronous, and return at once."""

    def __init__(self, process: str, deliver: Deliver) -> None:
        self._process = process
        self._deliver = deliver
        self._url = environment().redis_url
        self._groups: set[str] = set()
        self._waiting: deque[tuple[str, str]] = deque(maxlen=MAX_WAITING)
        self._work = asyncio.Event()
        self._changed = asyncio.Event()
        self._subscribed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_away = self._was_away = False
        self.is_late = False
        """Whether Redis has not answered for LATE_SECONDS, or longer. Then the group PROCESS gets a message."""
        self._late: asyncio.TimerHandle | None = None
        self._round = 0
        self._answered = 0.0

    @property
    def is_on(self) -> bool:
        """Whether there may be other processes."""
        return bool(self._url)

    def join(self, group: str) -> None:
        """Deliver messages from other processes to a group."""
        if self._url and group not in self._groups:
            self._groups.add(group)
            self._resubscribe()

    def leave(self, group: str) -> None:
        if group in self._groups:
            self._groups.discard(group)
            self._resubscribe()

    async def settled(self) -> None:
        """Wait until Redis has subscribed the joined groups, at most ANSWER_SECONDS, and not at all while it is down."""
        if self._url and not self._is_away:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._subscribed.wait()

    def send(self, group: str, message: Mapping[str, object], to: str = "", over: str = "") -> None:
        """Send to a group in all other processes, or only in the process ``to``. ``over``: another group, whose subscriptions are used."""
        if self._url and not self._is_away:
            self._start()
            self._waiting.append((_channel(over or group, to), _packed(self._process, group, message)))
            self._work.set()

    def _resubscribe(self) -> None:
        self._subscribed.clear()
        self._changed.set()
        self._start()

    def _start(self) -> None:
        if not self._tasks:
            # The event loop keeps only a weak reference to a task.
            self._expect_answer()
            self._tasks = [asyncio.create_task(work, context=Context()) for work in (self._keep_sending(), self._keep_listening())]

    async def _keep_sending(self) -> None:
        async with _client(self._url) as client:
            while True:
                await self._work.wait()
                self._work.clear()
                try:
                    async with asyncio.timeout(ANSWER_SECONDS):
                        if self._was_away:
                            # Otherwise the first message after the outage is lost on a connection from before it, which looks like another.
                            await client.connection_pool.disconnect()
                            self._was_away = False
                        await self._send_waiting(client)
                except Exception as error:  # noqa: BLE001 - whatever the client raises, the relay must keep running
                    self._waiting.clear()
                    self._note_away(error)

    async def _send_waiting(self, client: redis.asyncio.Redis) -> None:
        while self._waiting:
            # The whole queue is sent in one round trip, in order.
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), 100))]
            pipeline = client.pipeline(transaction=False)
            for channel, packed in batch:
                pipeline.publish(channel, packed)
            await pipeline.execute()

    async def _keep_listening(self) -> None:
        async with _client(self._url) as client:
            while True:
                try:
                    async with client.pubsub() as pubsub:
                        await self._listen(pubsub)
                except Exception as error:  # noqa: BLE001 - as above; a broken connection may raise anything
                    self._note_away(error)
                self._changed.set()
                await asyncio.sleep(PAUSE_SECONDS)

    async def _listen(self, pubsub: Any) -> None:
        """Keep the subscriptions as the groups are, in rounds: at each change, and every PING_SECONDS. The ping at the end of a round shows
        by its answer that Redis is there, and has subscribed what was asked for before it."""
        known: set[str] = set()
        reader: asyncio.Task[None] | None = None
        try:
            while True:
                self._changed.clear()
                self._round += 1
                async with asyncio.timeout(ANSWER_SECONDS):
                    known = await self._subscribe(pubsub, known)
                    if reader is None:
                        self._answered = asyncio.get_running_loop().time()
                        reader = asyncio.create_task(self._read(pubsub))
                    await pubsub.ping(str(self._round))
                self._check(reader)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PING_SECONDS):
                        await self._changed.wait()
        finally:
            if reader is not None:
                await ended(reader)

    async def _subscribe(self, pubsub: Any, subscribed: set[str]) -> set[str]:
        """Change the subscriptions to those that are wanted now, which it returns."""
        wanted = {_channel(to=self._process), *map(_channel, self._groups)}
        if wanted - subscribed:
            await pubsub.subscribe(*(wanted - subscribed))
        if subscribed - wanted:
            await pubsub.unsubscribe(*(subscribed - wanted))
        return wanted

    def _check(self, reader: asyncio.Task[None]) -> None:
        """Raises an error if there was no reply for too long, or if reading failed."""
        if reader.done():
            reader.result()
        if asyncio.get_running_loop().time() - self._answered > 2 * ANSWER_SECONDS:
            raise TimeoutError("Redis is silent")

    async def _read(self, pubsub: Any) -> None:
        while True:
            message = await pubsub.get_message(timeout=ANSWER_SECONDS)
            if message is None:
                continue
            self._answered = asyncio.get_running_loop().time()
            if message["type"] == "message":
                self._take(message["data"])
            elif message["type"] == "pong":
                self._note_back(int(message["data"]))

    def _take(self, packed: bytes) -> None:
        sender, group, message = json.loads(packed)
        if sender != self._process:
            self._deliver(group, message)

    def _note_away(self, error: BaseException) -> None:
        if not self._is_away:
            log.warning("Redis is away (%s): pages of other processes lag until it answers", type(error).__name__)
        self._is_away = self._was_away = True
        self._subscribed.clear()

    def _expect_answer(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = asyncio.get_running_loop().call_later(LATE_SECONDS - STALL_SECONDS, self._doubt)

    def _doubt(self) -> None:
        self._late = asyncio.get_running_loop().call_later(STALL_SECONDS, self._note_late)

    def _note_late(self) -> None:
        self.is_late = True
        self._deliver(OWN_PROCESS, {"type": "relay.late"})

    def _note_back(self, round_: int) -> None:
        self.is_late = False
        self._expect_answer()
        if self._is_away:
            log.warning("Redis is back")
        self._is_away = False
        # Redis answers in order, so subscriptions sent before this round's ping are active.
        if round_ == self._round and not self._changed.is_set():
            self._subscribed.set()


async def ended(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks that use the Redis client, repeatedly until they end: during a reconnection, the client can lose a cancellation."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=ANSWER_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)  # their exceptions no longer matter


def publish_once(process: str, group: str, message: Mapping[str, object], *, to: str = "") -> None:
    """Send to other processes from synchronous code that has no event loop. Waits at most ANSWER_SECONDS; lost while Redis is down."""
    if not (url := environment().redis_url):
        return
    import redis  # imported here, because most deployments have no Redis; with Redis, ``chatui.limits`` has imported it already

    try:
        with redis.Redis.from_url(url, socket_connect_timeout=ANSWER_SECONDS, socket_timeout=ANSWER_SECONDS) as client:
            client.publish(_channel(group, to), _packed(process, group, message))
    except (redis.exceptions.RedisError, OSError, TimeoutError, ValueError) as error:
        log.warning("a message to other processes was lost (%s)", type(error).__name__)


def _client(url: str) -> redis.asyncio.Redis:
    import redis.asyncio  # as above
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    # Without the client's own retries: an outage must be noticed at once, and ``_keep_listening`` reconnects.
    return redis.asyncio.Redis.from_url(url, socket_connect_timeout=ANSWER_SECONDS, retry=Retry(NoBackoff(), 0))


def _packed(process: str, group: str, message: Mapping[str, object]) -> str:
    return json.dumps([process, group, dict(message)], separators=(",", ":"))


def _channel(group: str = "", to: str = "") -> str:
    """The Redis channel of a group, or of everything for the process ``to``."""
    return f"chatui.process.{to}" if to else f"chatui.group.{group}"
