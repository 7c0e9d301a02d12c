"""Following a response written by another process: with slow or early-leaving readers, and lost or late messages."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from tests.support.background_answers import GROUP, LostError, OtherProcess
from tests.support.background_answers import other as other
from tests.support.limits import limit, set_limits


async def read(other: OtherProcess, after: int = -1, wait: float = 5.0) -> list[int]:
    async with aclosing(other.followed(after, wait)) as events:
        return [body["sequence_number"] async for body in events if body is not None]


async def test_each_event_arrives_once_and_in_order(other: OtherProcess) -> None:
    other.replies()
    assert await read(other, 17) == list(range(18, 5000))
    await asyncio.sleep(0.05)
    assert list(other.receivers) == [GROUP]


async def test_a_slow_reader_is_not_sent_more_than_it_reads(other: OtherProcess) -> None:
    other.replies()
    async with aclosing(other.followed()) as events:
        async for body in events:
            if body is not None and body["sequence_number"] == 99:
                await asyncio.sleep(0.3)
                break
    assert other.read_to < 2 * limit("chatui.api", "MAX_EVENTS")


@pytest.mark.parametrize("lost", ["events", "key"])
async def test_lost_messages_cost_time_but_no_events(lost: str, other: OtherProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", MAX_EVENTS=50)
    other.most, seen = 1000, 0

    def loses(message: dict[str, Any]) -> bool:
        nonlocal seen
        seen += lost in message
        return lost in message and seen % 3 == 1

    other.loses = loses
    other.replies()
    assert await read(other, wait=0.02) == list(range(1000))


async def test_a_late_reply_repeats_no_events(other: OtherProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", MAX_EVENTS=50)
    other.most = 200
    other.replies()
    other.repeats = True
    assert await read(other) == list(range(200))


async def test_a_process_that_answers_late_is_asked_again(other: OtherProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", ASK_SECONDS=0.05)
    other.loses = lambda message: len(other.sent) < 4  # as before it is connected to Redis
    other.replies()
    assert await other.ask()
    assert list(other.receivers) == [GROUP]


async def test_silence_does_not_mean_that_there_is_no_recording(other: OtherProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", ASK_SECONDS=0.05)
    set_limits(monkeypatch, "chatui.api", ANSWER_SECONDS=0.2)
    with pytest.raises(LostError):
        await other.ask()
    other.has_none = True
    other.replies()
    assert not await other.ask(), "the process answered"
    assert list(other.receivers) == [GROUP]


async def test_a_reader_that_leaves_during_a_redis_request_is_cleaned_up(other: OtherProcess) -> None:
    other.is_settled.clear()
    task = asyncio.create_task(other.ask())
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])
    assert not other.receivers


async def test_a_dead_process_ends_the_stream(other: OtherProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", SILENT_SECONDS=0.2)
    with pytest.raises(LostError):
        await read(other, wait=0.05)
    assert not other.receivers
