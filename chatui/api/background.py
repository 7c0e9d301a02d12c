"""Creates background responses and resumes their interrupted streams, also of a response that another process writes.

Processes only exchange the events of a reader's stream. The process that serves the stream checks the key; the one with the recording only
reports whether it contains raw reasoning.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts.api_keys import LiveKey
from chatui.api import answering, reasoning_access, recordings
from chatui.api.answering import Answering, KeyWatch
from chatui.api.errors import INVALID, SERVER_ERROR, TOO_MANY, ApiError, invalid, of_code
from chatui.api.recordings import BackgroundEvents, Recording, queued
from chatui.api.response_events import Event
from chatui.api.response_object import ResponseHead
from chatui.display.programs import StoredProgramAnswer
from chatui.wire.bus import PROCESS, Message, bus

GROUP = "recordings"
"""The group for other processes' requests for recordings of this one."""
ANSWER_SECONDS = 10.0
"""How long the other process may take to report whether it has a recording: it may be busy."""
ASK_SECONDS = 1.0
"""The interval at which it is asked: until both processes are connected to Redis, messages are lost."""
SIGN_SECONDS = 5.0
"""The interval of each side's keep-alive messages."""
SILENT_SECONDS = 20.0
"""After this long without a message, the other side is considered gone."""
MAX_UNREAD = 200
"""How many events may be unacknowledged: more are sent only after the reader acknowledges some."""
_ACKNOWLEDGE_AFTER = 50


class LostError(Exception):
    """The other process is silent, or no longer has the recording."""


class SilentProcessError(Exception):
    """The other process does not report whether it has a recording."""


class FollowedElsewhere:
    """A recording in another process, with the same interface for readers as ``Recording``."""

    def __init__(self, key: UUID, process: str, owner_id: UUID, *, views_hidden: bool) -> None:
        self._key, self._process = key, process
        self.owner_id = owner_id
        self.views_hidden = views_hidden

    async def follow(self, after: int, wait: Callable[[], float]) -> AsyncGenerator[Event | None, None]:
        """See ``Recording.follow``. Raises LostError."""
        recordings.readers[self.owner_id] += 1
        try:
            number, is_over = after, False
            while not is_over:
                first_number = number
                try:
                    async with aclosing(self._once(number, wait)) as events:
                        async for body in events:
                            if body is not None and body["sequence_number"] != number + 1:
                                break  # a message was lost: start again from there
                            yield body
                            number = number if body is None else int(body["sequence_number"])
                        else:
                            is_over = True
                except LostError:
                    if number == first_number:
                        raise
                    # A slow reader is silent for long, and the other process considers it gone: follow again.
        finally:
            recordings.readers[self.owner_id] -= 1

    async def _once(self, after: int, wait: Callable[[], float]) -> AsyncGenerator[Event | None, None]:
        loop = asyncio.get_running_loop()
        async with _Channel(self._process) as channel:
            channel.send(follow=str(self._key), after=after)
            received_at, sent_at, read, acknowledged = loop.time(), loop.time(), after, after
            while True:
                message = await channel.next(min(wait(), SIGN_SECONDS))
                now = loop.time()
                if now - sent_at >= SIGN_SECONDS or read - acknowledged >= _ACKNOWLEDGE_AFTER:
                    sent_at, acknowledged = now, read
                    channel.send(read=read)
                if message is None:
                    if now - received_at >= SILENT_SECONDS:
                        raise LostError
                    yield None
                    continue
                received_at = now
                if message.get("gone"):
                    raise LostError
                if isinstance(body := message.get("body"), dict):
                    yield body
                    read += 1
                elif message.get("over"):
                    return


class _Channel:
    """Messages to one other process, and its private replies."""

    def __init__(self, process: str) -> None:
        self._process = process
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
        self.send(leave=True)
        bus().leave(self._reply, self._receive)

    def send(self, **fields: object) -> None:
        bus().send_to(self._process, GROUP, {**fields, "reply": self._reply, "to": PROCESS})

    async def next(self, seconds: float) -> Message | None:
        try:
            async with asyncio.timeout(seconds):
                return await self._replies.get()
        except TimeoutError:
            return None

    def _receive(self, _group: str, message: Message) -> None:
        self._replies.put_nowait(message)


async def found(key: UUID, process: str, owner_id: UUID) -> FollowedElsewhere | None:
    """The recording of a response that ``process`` writes or has written. None if it no longer has it.

    Raises:
        SilentError: the process does not answer. It may be busy or dead.
    """
    if not process or process == PROCESS:
        return None
    message = await _asked(key, process)
    if not isinstance(views_hidden := message.get("views_hidden"), bool):
        return None
    return FollowedElsewhere(key, process, owner_id, views_hidden=views_hidden)


async def _asked(key: UUID, process: str) -> Message:
    if not bus().reaches_others:
        raise SilentProcessError
    loop = asyncio.get_running_loop()
    async with _Channel(process) as channel:
        until = loop.time() + ANSWER_SECONDS
        while loop.time() < until:
            channel.send(ask=str(key))
            if message := await channel.next(ASK_SECONDS):
                return message
    raise SilentProcessError


@dataclass(slots=True, eq=False)
class _Reader:
    """A reader in another process: how far it has read, and when it last reported."""

    read: int
    last_message_at: float
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def acknowledge(self, read: object) -> None:
        """Record a message from the reader."""
        self.last_message_at = asyncio.get_running_loop().time()
        if isinstance(read, int):
            self.read = max(self.read, read)
        self.news.set()

    async def can_receive(self, number: int) -> bool:
        """Wait until the reader has read enough to be sent this event. False if it is silent."""
        while asyncio.get_running_loop().time() - self.last_message_at <= SILENT_SECONDS:
            if number - self.read <= MAX_UNREAD:
                return True
            self.news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(SIGN_SECONDS):
                    await self.news.wait()
        return False


class _Listener:
    """Serves the recordings of this process to other processes."""

    def __init__(self) -> None:
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._readers: dict[str, _Reader] = {}

    def receive(self, _group: str, message: Message) -> None:
        """Handle a message from another process."""
        reply, process = message.get("reply"), message.get("to")
        if not isinstance(reply, str) or not isinstance(process, str):
            return
        if message.get("leave"):
            if task := self._serving.get(reply):
                task.cancel()
        elif reply in self._serving:
            self._readers[reply].acknowledge(message.get("read"))
        elif "ask" in message:
            recording = _recording(message["ask"])
            bus().send_to(process, reply, {"gone": True} if recording is None else {"views_hidden": recording.views_hidden})
        elif "follow" in message:
            self._begin(reply, process, _recording(message["follow"]), message.get("after"))

    def _begin(self, reply: str, process: str, recording: Recording | None, after: object) -> None:
        if recording is None or not isinstance(after, int):
            bus().send_to(process, reply, {"gone": True})
            return
        reader = self._readers[reply] = _Reader(after, asyncio.get_running_loop().time())
        task = self._serving[reply] = asyncio.create_task(self._serve(recording, reader, process, reply))
        task.add_done_callback(lambda _: self._forget(reply))

    def _forget(self, reply: str) -> None:
        self._serving.pop(reply, None)
        self._readers.pop(reply, None)

    async def _serve(self, recording: Recording, reader: _Reader, process: str, reply: str) -> None:
        async with aclosing(recording.follow(reader.read, lambda: SIGN_SECONDS)) as events:
            async for body in events:
                if not await reader.can_receive(reader.read if body is None else body["sequence_number"]):
                    bus().send_to(process, reply, {"gone": True})  # when it continues reading, it asks again from there
                    return
                bus().send_to(process, reply, {"here": True} if body is None else {"body": body})
        bus().send_to(process, reply, {"over": True})


def _recording(key: object) -> Recording | None:
    try:
        return recordings.recording_of(UUID(str(key)))
    except ValueError:
        return None


def listen() -> None:
    """Let other processes follow what is recorded on the running event loop. May be called again."""
    if not bus().is_heard(GROUP):
        bus().join(GROUP, _Listener().receive)


log = logging.getLogger(__name__)

FROM_BEGINNING = -1
NUMBER_DIGITS = 9


def start_response(answer: Answering, head: ResponseHead, *, wants_summary: bool, stream: bool) -> HttpResponseBase:
    """The reply to the request that asked for a response in the background. The response is written even if nobody reads it."""
    listen()
    recording = recordings.record(answer, partial(BackgroundEvents, head, wants_summary=wants_summary))
    if stream:
        return answering.streamed(_stream(recording, answer.key, FROM_BEGINNING), lambda: None)
    return JsonResponse(queued(head))


async def resumed(request: HttpRequest, key: LiveKey, answer: StoredProgramAnswer) -> HttpResponseBase:
    """The stream of a response after ``starting_after``. The caller has checked that the key may read it, except for raw reasoning."""
    recording = recordings.recording_of(answer.id) or await _recording_elsewhere(key, answer)
    if recording is None:
        sentence = "Only what is written in the background can be streamed again, and only for a while: read it as a whole."
        raise invalid(sentence, param="stream", code="stream_not_available")
    if recording.views_hidden:
        if not key.views_hidden:
            if not reasoning_access.asks_for_reasoning(request):  # an explicit request for reasoning was recorded when it was parsed
                await reasoning_access.record_attempt(reasoning_access.address_of(request), key)
            raise ApiError(403, INVALID, "insufficient_scope", "This stream holds raw reasoning, which this key may not read (any more).")
        await reasoning_access.record_reading(reasoning_access.address_of(request), key, answer.conversation_id)
    after = _after(request.GET.get("starting_after"))
    check_room(key)
    return answering.streamed(_stream(recording, key, after), lambda: None)


async def _recording_elsewhere(key: LiveKey, answer: StoredProgramAnswer) -> FollowedElsewhere | None:
    if not answer.given.get("background"):
        return None
    try:
        return await found(answer.id, answer.process, key.owner.pk)
    except SilentProcessError:
        if answer.state != "running":
            return None  # nothing is missing from the whole response
    sentence = "The process that writes this response does not answer now. Try again, or read the response as it is so far."
    error = ApiError(503, SERVER_ERROR, "server_busy", sentence, param="stream")
    error.retry_after = 1
    raise error


def check_room(key: LiveKey) -> None:
    """Check that the owner of the key may follow one more response. Raises ApiError."""
    try:
        recordings.check_room(key.owner.pk)
    except recordings.TooManyReadersError:
        error = ApiError(429, TOO_MANY, "too_many_at_once", "Too many streams are followed at once.")
        error.retry_after = 1
        raise error from None


async def _stream(recording: Recording | FollowedElsewhere, key: LiveKey, after: int) -> AsyncIterator[bytes]:
    watch, number = KeyWatch(key), after
    async with aclosing(_unless_lost(recording, after, watch)) as events:
        async for body in events:
            if not watch.wait:
                if code := await watch.why_over():
                    # Not an event of the response, which continues for others: it only ends this stream.
                    yield answering.event({"type": "error", "sequence_number": number + 1, "error": of_code(code).body()})
                    break
                if body is None:
                    yield answering.STILL_HERE
            if body is not None:
                number = body["sequence_number"]
                yield answering.event(body)
    yield answering.DONE


async def _unless_lost(recording: Recording | FollowedElsewhere, after: int, watch: KeyWatch) -> AsyncGenerator[Event | None, None]:
    """Ends early if the process with the recording is gone: the reader notices the missing end, and requests the response."""
    try:
        async with aclosing(recording.follow(after, lambda: watch.wait)) as events:
            async for body in events:
                yield body
    except LostError:
        log.warning("a background response could not be followed to its end: the process that has it does not answer")


def _after(wished: str | None) -> int:
    if not wished:
        return FROM_BEGINNING
    if not wished.isdecimal() or len(wished) > NUMBER_DIGITS:
        raise invalid("It has to be the number of an event.", param="starting_after")
    return int(wished)
