"""Faults inside the product that nothing from outside brings about: what shows a turn fails, or what hears of it does."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from chatui.turns import running
from chatui.turns.running import TurnPlace
from chatui.turns.streams.end_user import EndUserStream
from chatui.wire import bus as wire_bus
from chatui.wire.bus import PROCESS, bus
from renderer.gate import Audience


def fail(*_: Any, **__: Any) -> Any:
    """Takes the place of what fails, as a bug of ours does."""
    raise RuntimeError("a bug")


def break_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a turn writes can be made into what people see."""
    monkeypatch.setattr(EndUserStream, "take", fail)


def break_snapshots(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """A page that joins cannot be told what there is so far. Returns what is set as soon as that was tried."""
    tried = asyncio.Event()

    def snapshot(*_: Any, **__: Any) -> Any:
        tried.set()
        fail()

    monkeypatch.setattr(EndUserStream, "snapshot", snapshot)
    return tried


def add_failing_listeners(conversation: UUID, turn: UUID) -> None:
    """One hears all events of the conversation, another asks for what there is so far, and both fail at what they hear."""
    bus().join(wire_bus.audience(conversation, Audience.END_USER), fail)
    bus().join("failing", fail)
    running.ask_snapshot(TurnPlace(turn, PROCESS), Audience.END_USER, "failing")
