"""The building blocks of a scripted answer: a Script, and the Planter that puts the markers in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from chatui.canary.markers import Canary

_TOKEN_CHARS = 5
"""Servers send a few characters at a time, so that a marker is cut in two."""


class Pause(Enum):
    """Stands in a script where the server waits until it is told to go on."""

    HERE = auto()


@dataclass(frozen=True, slots=True)
class Script:
    """One answer of a model server. ``name`` is the model that is asked for; ``shows`` are the visible markers that must arrive.

    ``ends`` are the states in which the turn may end; where there are none, the person stops it. ``is_aside``: nobody asks for it but the
    product itself, in the middle of another one, which has it among its ``asides``.
    """

    name: str
    steps: tuple[bytes | Pause, ...] = field(repr=False)
    shows: tuple[str, ...] = ()
    ends: tuple[str, ...] = ("completed",)
    status: int = 200
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    asides: tuple[str, ...] = ()
    is_aside: bool = False


class Planter:
    """Markers for the answers of one wire format. ``hidden`` must stay hidden, ``visible`` must arrive.

    ``bait`` stands beside each hidden marker: a search for it must find as little as a search for a word that is nowhere.
    """

    def __init__(self, kind: str, hidden: Canary, visible: Canary, bait: str) -> None:
        self._kind = kind
        self._hidden = hidden
        self._visible = visible
        self._bait = bait

    def word(self, place: str) -> str:
        """A hidden marker by itself, for names and headers."""
        return self._hidden.plant(f"{self._kind}: {place}")

    def text(self, place: str) -> str:
        """A hidden sentence."""
        return f"{self.word(place)} {self._bait} is what nobody may read."

    def show(self, place: str) -> str:
        """A visible marker."""
        return self._visible.plant(f"{self._kind}: {place}")


def event(data: object, name: str = "") -> bytes:
    """A server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def cut(text: str) -> Iterable[str]:
    """``text`` in pieces as small as tokens."""
    return (text[at : at + _TOKEN_CHARS] for at in range(0, len(text), _TOKEN_CHARS))


def headers(planter: Planter) -> tuple[tuple[str, str], ...]:
    """Response headers with hidden words."""
    names = ("X-Reasoning", "X-Request-Id", "Server", "Set-Cookie", "Retry-After", "Content-Disposition")
    return tuple((name, f"word={planter.word(f'header {name}')}") for name in names)
