"""The base classes of all events, and the function that encodes events as one WebSocket frame."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import ClassVar

from renderer.markup.html import SafeHtml


def _plain(value: object) -> object:
    if isinstance(value, Item):
        return value.as_json()
    if isinstance(value, SafeHtml):
        return value.html
    raise TypeError(type(value).__name__)


_ENCODE = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


@cache
def _fields(kind: type[Item]) -> tuple[tuple[str, ...], Callable[[Item], tuple[object, ...]]]:
    """The names of its fields, and what reads their values as a tuple: of a single name it would read the value alone, hence the rest."""
    names = tuple(field.name for field in fields(kind))
    return names, attrgetter(*names, "__class__", "__class__")


@dataclass(frozen=True, slots=True)
class Item:
    """A value with named fields inside an event."""

    def as_json(self) -> dict[str, object]:
        names, read = _fields(type(self))  # type: ignore[arg-type]  # classes have a hash
        return {name: value for name, value in zip(names, read(self), strict=False) if value is not None}

    @property
    def as_text(self) -> str:
        """As JSON, for an attribute of a page."""
        return _ENCODE(self.as_json())


@dataclass(frozen=True, slots=True)
class Event(Item):
    """A message to a browser."""

    types: ClassVar[tuple[str, ...]] = ()
    """Its names on the wire; if there are several, its first field ``type`` says which."""

    def as_json(self) -> dict[str, object]:
        return {"type": self.types[0]} | Item.as_json(self)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A step of a turn with its sequence number. Each audience has its own numbers."""

    turn: str
    sequence_number: int
    event: Event

    def as_json(self) -> dict[str, object]:
        return self.event.as_json() | {"turn": self.turn, "sequence_number": self.sequence_number}


def encode(events: Iterable[Event | Numbered]) -> str:
    """Encode events as one WebSocket frame: a JSON array in ASCII only, so that no server in between can misread it."""
    return _ENCODE([event.as_json() for event in events])
