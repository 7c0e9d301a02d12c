"""The end of a message waits a moment for the end of its turn, so that both travel together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from uuid import uuid4

import pytest

from chatui import wire
from chatui.turns.streams.end_user import EndUserStream
from chatui.wire.bus import PROCESS
from renderer.events import FrameClosed, FrameOpened
from renderer.frame_kinds import ANSWER
from renderer.frames import Terminator
from renderer.gate import Audience
from tests.chatui.turns.streams.published import Turn, World, followed
from tests.chatui.turns.streams.published import world as world


def broken(*_: object, **__: object) -> None:
    raise RuntimeError


def ended(world: World, seconds: float = 1.0) -> Turn:
    """A followed turn whose text was sent, and whose answer ends that many seconds later."""
    turn = followed(world)
    turn.open()
    turn.write("Four **and")
    world.go_on(seconds)
    turn.publisher.take(FrameClosed(Terminator.RETURN), turn.key)
    assert shown(turn) == []
    return turn


def shown(turn: Turn) -> list[str]:
    """The types of the events after the open text."""
    events = [event for to, message, _ in turn.world.sent if to == turn.people for event in json.loads(message["json"])]
    assert [event["sequence_number"] for event in events] == list(range(1, len(events) + 1))
    return [event["type"] for event in events[2:]]


def test_the_end_of_a_message_is_sent_together_with_the_end_of_its_turn(world: World) -> None:
    turn = ended(world)
    assert world.waits() == [100, 1000]
    asyncio.run(turn.publisher.catch_up())
    assert shown(turn) == [] and turn.publisher.is_shown_whole and len(turn.publisher.shown()) == 1
    before = len(world.sent)
    turn.publisher.end(wire.TurnEnded("response.completed", "completed", None, 5))
    assert shown(turn) == ["response.delta.flush", "response.completed"] and len(world.sent) == before + 1


def test_the_end_of_a_message_does_not_wait_long(world: World) -> None:
    turn = ended(world)
    world.go_on(0.05)
    asyncio.run(turn.publisher.catch_up())
    world.go_on(0.049)
    assert shown(turn) == []
    world.go_on(0.001)
    assert shown(turn) == ["response.delta.flush"]
    asyncio.run(turn.publisher.catch_up())
    assert shown(turn) == ["response.delta.flush"]


@pytest.mark.parametrize(
    "follows",
    [
        lambda turn: turn.publisher.add_event(wire.Saving()),
        lambda turn: turn.publisher.take(FrameOpened(ANSWER), uuid4()),
        lambda turn: turn.think(),
    ],
)
def test_whatever_follows_the_end_of_a_message_sends_it(world: World, follows: Callable[[Turn], None]) -> None:
    turn = ended(world)
    follows(turn)
    world.go_on()
    assert "response.delta.flush" in shown(turn)


def test_a_snapshot_comes_after_the_end_of_a_message(world: World) -> None:
    turn = ended(world)
    asyncio.run(turn.publisher.catch_up())
    turn.publisher.send_snapshot(Audience.END_USER, PROCESS, "page")
    assert shown(turn) == ["response.delta.flush"] and len(world.sent_to) == 1


def test_no_beat_numbers_an_event_that_was_not_sent(world: World) -> None:
    turn = ended(world, 1.95)
    asyncio.run(turn.publisher.catch_up())
    world.go_on(0.06)
    assert shown(turn) == ["response.delta.flush"]
    world.go_on(2)
    assert world.sent[-1][1]["json"].count("chatui:beat") == 1


def test_a_turn_that_dies_before_its_end_sends_the_end_of_its_message(world: World) -> None:
    turn = ended(world)
    asyncio.run(turn.publisher.catch_up())
    turn.publisher.stop()
    assert shown(turn) == ["response.delta.flush"] and world.waits() == []


def test_a_message_whose_end_cannot_be_shown_does_not_stop_its_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = ended(world)
    monkeypatch.setattr(EndUserStream, "flush", broken)
    asyncio.run(turn.publisher.catch_up())
    assert shown(turn) == []
