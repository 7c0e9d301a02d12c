"""Following a response written by another process: with slow or early-leaving readers, and lost or late messages."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import pytest

from chatui.api import recordings, recordings_elsewhere
from chatui.api.recordings_elsewhere import FollowedElsewhere, LostError
from tests.support.limits import limit, set_limits

GROUP = limit("chatui.api", "GROUP")

OTHER = "another process"


class RemoteRecording:
    """A recording in the other process: at most ``most`` events at once, and then those that come."""

    views_hidden = False

    def __init__(self, most: int) -> None:
        self.most = most
        self.read_to = 0

    async def follow(self, after: int, wait: Callable[[], float]) -> AsyncIterator[dict[str, int]]:
        for number in range(after + 1, self.most):
            self.read_to = max(self.read_to, number)
            yield {"sequence_number": number}


class FakeBus:
    """The bus between both processes. ``loses`` decides whether a message is lost; if it ``repeats``, each arrives twice."""

    reaches_others = True

    def __init__(self) -> None:
        self.receivers: dict[str, Any] = {}
        self.is_settled = asyncio.Event()
        self.is_settled.set()
        self.loses: Callable[[dict[str, Any]], bool] = lambda message: False
        self.repeats = False
        self.sent: deque[dict[str, Any]] = deque()

    def join(self, group: str, receive: Any) -> None:
        self.receivers[group] = receive

    def leave(self, group: str, receive: Any) -> None:
        self.receivers.pop(group, None)

    def is_heard(self, group: str) -> bool:
        return group in self.receivers

    async def settled(self) -> None:
        await self.is_settled.wait()

    def send_to(self, process: str, group: str, message: dict[str, Any]) -> None:
        self.sent.append(message)
        if not self.loses(message) and group in self.receivers:
            for _ in range(1 + self.repeats):
                asyncio.get_running_loop().call_soon(self.receivers[group], group, message)


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> FakeBus:
    bus = FakeBus()
    monkeypatch.setattr(recordings_elsewhere, "bus", lambda: bus)
    return bus


@pytest.fixture
def written(wire: FakeBus, monkeypatch: pytest.MonkeyPatch) -> RemoteRecording:
    recording = RemoteRecording(5000)
    monkeypatch.setattr(recordings, "recording_of", lambda key: recording)
    return recording


def followed() -> FollowedElsewhere:
    return FollowedElsewhere(uuid4(), OTHER, uuid4(), views_hidden=False)


async def read(recording: FollowedElsewhere, after: int = -1, wait: float = 5.0) -> list[int]:
    async with aclosing(recording.follow(after, lambda: wait)) as events:
        return [body["sequence_number"] async for body in events if body is not None]


async def test_each_event_arrives_once_and_in_order(wire: FakeBus, written: RemoteRecording) -> None:
    recordings_elsewhere.listen()
    assert await read(followed(), 17) == list(range(18, 5000))
    await asyncio.sleep(0.05)
    assert list(wire.receivers) == [GROUP]


async def test_a_slow_reader_is_not_sent_more_than_it_reads(wire: FakeBus, written: RemoteRecording) -> None:
    recordings_elsewhere.listen()
    async with aclosing(followed().follow(-1, lambda: 5.0)) as events:
        async for body in events:
            if body is not None and body["sequence_number"] == 99:
                await asyncio.sleep(0.3)
                break
    assert written.read_to < 2 * limit("chatui.api", "MAX_EVENTS")


@pytest.mark.parametrize("lost", ["events", "key"])
async def test_lost_messages_cost_time_but_no_events(
    lost: str, wire: FakeBus, written: RemoteRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, "chatui.api", MAX_EVENTS=50)
    written.most, seen = 1000, 0

    def loses(message: dict[str, Any]) -> bool:
        nonlocal seen
        seen += lost in message
        return lost in message and seen % 3 == 1

    wire.loses = loses
    recordings_elsewhere.listen()
    assert await read(followed(), wait=0.02) == list(range(1000))


async def test_a_late_reply_repeats_no_events(wire: FakeBus, written: RemoteRecording, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", MAX_EVENTS=50)
    written.most = 200
    recordings_elsewhere.listen()
    wire.repeats = True
    assert await read(followed()) == list(range(200))


async def test_a_process_that_answers_late_is_asked_again(wire: FakeBus, written: RemoteRecording, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", ASK_SECONDS=0.05)
    wire.loses = lambda message: len(wire.sent) < 4  # as before it is connected to Redis
    recordings_elsewhere.listen()
    assert await recordings_elsewhere.found(uuid4(), OTHER, uuid4()) is not None
    assert list(wire.receivers) == [GROUP]


async def test_silence_does_not_mean_that_there_is_no_recording(wire: FakeBus, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", ASK_SECONDS=0.05)
    set_limits(monkeypatch, "chatui.api", ANSWER_SECONDS=0.2)
    with pytest.raises(LostError):
        await recordings_elsewhere.found(uuid4(), OTHER, uuid4())
    recordings_elsewhere.listen()
    assert await recordings_elsewhere.found(uuid4(), OTHER, uuid4()) is None, "the process answered"
    assert list(wire.receivers) == [GROUP]


async def test_a_reader_that_leaves_during_a_redis_request_is_cleaned_up(wire: FakeBus, written: RemoteRecording) -> None:
    wire.is_settled.clear()
    task = asyncio.create_task(recordings_elsewhere.found(uuid4(), OTHER, uuid4()))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])
    assert not wire.receivers


async def test_a_dead_process_ends_the_stream(wire: FakeBus, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", SILENT_SECONDS=0.2)
    with pytest.raises(LostError):
        await read(followed(), wait=0.05)
    assert not wire.receivers
