"""The building blocks of a scripted answer: a Script, and the Planter that puts the markers in."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from chatui.canary.markers import Canary

ENDS_OF_A_CALL = ("completed", "incomplete")
"""How a turn may end in which the model called a tool that nobody runs."""
_LONGEST_PIECE_CHARS = 12
_LONGEST_PIECE_BYTES = 240
_TOKEN_CHARS = 5
"""Servers send a few characters at a time, so that a marker is cut in two."""


class Pause(Enum):
    """Stands in a script where the server waits until it is told to go on."""

    HERE = auto()


@dataclass(frozen=True, slots=True)
class Script:
    """One answer of a model server. ``name`` is the model that is asked for; ``shows`` are the visible markers that must arrive.

    ``ends`` are the states in which the turn may end; where there are none, the person stops it. ``is_aside``: nobody asks for it but the
    product itself, in the middle of another one, which has it among its ``asides``. ``withdrawn`` are places of hidden text that a server
    is late to call hidden: until the product withdraws it, the person who asked may have read it on their page, and nowhere else.
    """

    name: str
    steps: tuple[bytes | Pause, ...] = field(repr=False)
    shows: tuple[str, ...] = ()
    ends: tuple[str, ...] = ("completed",)
    status: int = 200
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    asides: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
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

    def hide(self, place: str) -> tuple[str, str]:
        """A hidden sentence, and what its place is called where it is found."""
        return self.text(place), f"{self._kind}: {place}"

    def show(self, place: str) -> str:
        """A visible marker."""
        return self._visible.plant(f"{self._kind}: {place}")


def event(data: object, name: str = "", *, is_ascii: bool = True) -> bytes:
    """A server-sent event. ``is_ascii``: other characters are escaped."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=is_ascii)}\n\n".encode()


def cut(text: str) -> Iterable[str]:
    """``text`` in pieces as small as tokens."""
    return (text[at : at + _TOKEN_CHARS] for at in range(0, len(text), _TOKEN_CHARS))


def pieces(text: str, chooser: random.Random) -> Iterator[str]:
    """``text`` cut at random."""
    while text:
        length = chooser.randint(1, _LONGEST_PIECE_CHARS)
        yield text[:length]
        text = text[length:]


def scattered(events: Iterable[bytes], chooser: random.Random) -> Iterator[bytes]:
    """Events as a network may deliver them: cut at random bytes, in the middle of a character too."""
    rest = b"".join(events)
    while rest:
        length = chooser.randint(1, _LONGEST_PIECE_BYTES)
        yield rest[:length]
        rest = rest[length:]


def headers(planter: Planter) -> tuple[tuple[str, str], ...]:
    """Response headers with hidden words."""
    names = ("X-Reasoning", "X-Request-Id", "Server", "Set-Cookie", "Retry-After", "Content-Disposition")
    return tuple((name, f"word={planter.word(f'header {name}')}") for name in names)
