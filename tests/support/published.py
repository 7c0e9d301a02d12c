"""A publisher with a clock of its own and without a bus: when which events are sent to whom."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from chatui.turns import publisher
from chatui.turns.publisher import Publisher
from chatui.wire import bus
from renderer.events import FrameOpened, FrameText
from renderer.frame_kinds import ANALYSIS, ANSWER
from renderer.gate import Audience
from tests.support.recorded_frames import unstored


class Timer:
    """A callback that waits for its time."""

    def __init__(self, at: float, run: Callable[[], None]) -> None:
        self.at, self.run, self.is_cancelled = at, run, False

    def cancel(self) -> None:
        self.is_cancelled = True


class World:
    """Stands in for the event loop with its clock, and for the bus."""

    def __init__(self, *, reaches_others: bool = False) -> None:
        self.now, self.timers, self.reaches_others = 0.125, list[Timer](), reaches_others
        self.heard: set[str] = set()
        self.sent: list[tuple[str, dict[str, Any], bool]] = []
        self.over: dict[str, str] = {}
        """For each group, the one over which other processes got its last message; empty for itself."""
        self.sent_to: list[tuple[str, str, dict[str, Any]]] = []

    # The event loop

    def time(self) -> float:
        return self.now

    def call_later(self, wait: float, run: Callable[[], None]) -> Timer:
        return self.call_at(self.now + wait, run)

    def call_at(self, at: float, run: Callable[[], None]) -> Timer:
        assert at > self.now
        self.timers.append(Timer(at, run))
        return self.timers[-1]

    def call_soon(self, run: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now, run))
        return self.timers[-1]

    def waits(self) -> list[float]:
        """How long each callback still waits, in milliseconds."""
        return sorted(round(1000 * (timer.at - self.now)) for timer in self.timers if not timer.is_cancelled)

    def go_on(self, seconds: float = 0.0) -> None:
        until = self.now + seconds + 1e-9
        while due := [timer for timer in self.timers if not timer.is_cancelled and timer.at <= until]:
            first = min(due, key=lambda timer: timer.at)
            self.timers.remove(first)
            self.now = max(self.now, first.at)
            first.run()
        self.now = until

    # The bus

    def is_heard(self, group: str) -> bool:
        return group in self.heard

    def send(self, group: str, message: dict[str, Any], *, elsewhere: bool, over: str) -> None:
        self.sent.append((group, message, elsewhere))
        self.over |= {group: over} if elsewhere else {}

    def send_elsewhere(self, group: str, message: dict[str, Any], over: str) -> None:
        self.send(group, message, elsewhere=True, over=over)

    def send_to(self, process: str, group: str, message: dict[str, Any]) -> None:
        self.sent_to.append((process, group, message))


class Turn:
    """A turn, and what was sent of it."""

    def __init__(self, world: World, **fields: Any) -> None:
        self.world, running = world, unstored(**fields)
        self.turn_id, self.owner = running.turn.pk, bus.person(running.turn.conversation.owner_id)
        conversation = running.turn.conversation_id
        self.people, self.debug = (bus.audience(conversation, audience) for audience in (Audience.END_USER, Audience.DEBUG))
        self.publisher = Publisher(running)
        self.key = uuid4()

    def types(self, group: str = "", *, elsewhere: bool | None = None) -> list[str]:
        """The types of the events that people, or ``group``, were sent."""
        found = [message for to, message, far in self.world.sent if to == (group or self.people) and elsewhere in (None, far)]
        return [event["type"] for message in found for event in json.loads(message["json"])]

    def think(self) -> None:
        self.publisher.take(FrameOpened(ANALYSIS), uuid4())

    def open(self) -> None:
        self.publisher.take(FrameOpened(ANSWER), self.key)

    def write(self, text: str) -> None:
        self.publisher.take(FrameText(text), self.key)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return in_world(monkeypatch)


def in_world(monkeypatch: pytest.MonkeyPatch, *, reaches_others: bool = False) -> World:
    found = World(reaches_others=reaches_others)
    monkeypatch.setattr(publisher, "bus", lambda: found)
    monkeypatch.setattr(
        publisher, "asyncio", SimpleNamespace(get_running_loop=lambda: found, sleep=asyncio.sleep, to_thread=asyncio.to_thread)
    )
    return found


def followed(world: World, **fields: Any) -> Turn:
    """A turn that a page of this process follows."""
    turn = Turn(world, **fields)
    world.heard |= {turn.people}
    return turn
