"""The base classes of all events, and the function that encodes events as one WebSocket frame."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import ClassVar

from renderer.markup.html import SafeHtml


@dataclass(frozen=True, slots=True)
class Item:
    """A value with named fields inside an event."""

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values; those that are None are left out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _plain(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Event(Item):
    """A message to a browser. ``types`` are its names on the wire; where it has several, its first field ``type`` is one of them."""

    types: ClassVar[tuple[str, ...]] = ()

    def as_json(self) -> dict[str, object]:
        """The event as JSON values with its type."""
        return {"type": self.types[0]} | Item.as_json(self)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A step of a turn with its sequence number. Each audience has its own numbers."""

    turn: str
    sequence_number: int
    event: Event

    def as_json(self) -> dict[str, object]:
        """The event with its turn and number."""
        return self.event.as_json() | {"turn": self.turn, "sequence_number": self.sequence_number}


def encode(events: Iterable[Event | Numbered]) -> str:
    """One WebSocket frame: a JSON array of events, in ASCII only, so that no server in between can misread it."""
    return json.dumps([event.as_json() for event in events], separators=(",", ":"))


def _plain(value: object) -> object:
    if isinstance(value, SafeHtml):
        return value.html
    if isinstance(value, Item):
        return value.as_json()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
