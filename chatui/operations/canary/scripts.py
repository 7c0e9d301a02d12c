"""What scripted answers are made of: a Script, the Planter that puts the markers in, and the catalogue of answer shapes.

The catalogue has the shapes in which servers without a parser for their model deliver hidden text. ``shapes.jsonl`` has one per line.
``{hidden}`` is replaced by hidden text, ``{shown}`` by text of the answer. ``shows``: the rest of the answer is shown, however it is cut.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import TypeVar

from chatui.operations.canary.watch import Canary

ENDS_OF_A_CALL = ("completed", "incomplete")
"""How a turn may end after the model called a tool that nobody runs."""
_MAX_PIECE_CHARS = 12
_MAX_PIECE_BYTES = 240
_TOKEN_CHARS = 5
"""Servers send a few characters at a time, so that a marker is cut in two."""


class Pause(Enum):
    """Marks a point in a script where the server waits for a command to continue."""

    HERE = auto()


@dataclass(frozen=True, slots=True)
class Script:
    """One answer of a model server.

    ``name``: the model name that requests it; ``shows``: the visible markers that must arrive. ``ends``: the states in which the turn may
    end; if empty, the person stops it. ``is_aside``: only the product requests it, during another script that lists it in ``asides``.
    ``withdrawn``: places of hidden text that the server marks as hidden too late: until the product withdraws it, the person who asked may
    see it on their page, and nowhere else. ``thinks_seconds``: how long each pause lasts at least, so that lines of a summary appear.
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
    thinks_seconds: float = 0.0


class Planter:
    """Markers for the answers of one wire format. ``hidden`` must stay hidden, ``visible`` must arrive.

    ``bait``: a word next to each hidden marker; searching for it must find no more than searching for a word that does not exist.
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
        """A hidden sentence, and the name of its place in findings."""
        return self.text(place), f"{self._kind}: {place}"

    def show(self, place: str) -> str:
        """A visible marker."""
        return self._visible.plant(f"{self._kind}: {place}")


def event(data: object, name: str = "", *, is_ascii: bool = True) -> bytes:
    """A server-sent event. ``is_ascii``: non-ASCII characters are escaped."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=is_ascii)}\n\n".encode()


def cut(text: str) -> Iterable[str]:
    """``text`` in pieces as small as tokens."""
    return (text[at : at + _TOKEN_CHARS] for at in range(0, len(text), _TOKEN_CHARS))


def pieces(text: str, chooser: random.Random) -> Iterator[str]:
    """``text`` cut at random."""
    while text:
        length = chooser.randint(1, _MAX_PIECE_CHARS)
        yield text[:length]
        text = text[length:]


def scattered(events: Iterable[bytes], chooser: random.Random) -> Iterator[bytes]:
    """Events as a network may deliver them: cut at random bytes, even inside a character."""
    rest = b"".join(events)
    while rest:
        length = chooser.randint(1, _MAX_PIECE_BYTES)
        yield rest[:length]
        rest = rest[length:]


def headers(planter: Planter) -> tuple[tuple[str, str], ...]:
    """Response headers with hidden words."""
    names = ("X-Reasoning", "X-Request-Id", "Server", "Set-Cookie", "Retry-After", "Content-Disposition")
    return tuple((name, f"word={planter.word(f'header {name}')}") for name in names)


One = TypeVar("One")
_FILE = Path(__file__).with_name("shapes.jsonl")


@dataclass(frozen=True, slots=True)
class Shape:
    """One answer. ``text``: a template with placeholders for hidden and visible text in braces."""

    name: str
    text: str = field(repr=False)
    shows: bool = False

    def filled(self, hidden: str, shown: str) -> str:
        """The answer with these texts."""
        return self.text.replace("{hidden}", hidden).replace("{shown}", shown)


def all_shapes() -> list[Shape]:
    """All shapes, in the order of the file."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [Shape(row["id"], row["text"], row.get("shows", False)) for row in map(json.loads, lines)]


def sample(of: Sequence[One], count: int | None, chooser: random.Random) -> list[One]:
    """``count`` random items in their order; all if ``count`` is None. Over many days, all are used."""
    if count is None or count >= len(of):
        return list(of)
    return [of[number] for number in sorted(chooser.sample(range(len(of)), count))]
