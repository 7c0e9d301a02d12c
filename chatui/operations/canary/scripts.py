"""What plays scripted answers: a Script, the Planter that makes one of a row of ``answers``, and the catalogue of answer shapes.

In the texts of a row, ``{?place}`` is a hidden sentence, ``{!place}`` a hidden word (for names and headers), and ``{+place}`` a word that
people must get to see. The catalogue has the shapes in which servers without a parser for their model deliver hidden text.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import EllipsisType
from typing import Any, TypeVar

from chatui.model_servers import connected
from chatui.operations.canary.watch import Canary
from renderer.harmony.pieces import ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import Vocabulary

ENDS_OF_A_CALL = ("completed", "incomplete")
"""How a turn may end after the model called a tool that nobody runs."""
EVENTS, JSON = "text/event-stream", "application/json"
_MAX_PIECE = 12
_MAX_PIECE_BYTES = 240
_PLACE = re.compile(r"\{([?!+])([^{}]*)\}")
_FILE = Path(__file__).with_name("shapes.jsonl")
One = TypeVar("One")
PAUSE = None
"""A point in a script where the server waits for a command to continue."""


class Harmony:
    """Text as token ids: of its parts, the first, third and so on have marker ids; in the others, markers are ordinary text."""

    def __init__(self, *parts: str) -> None:
        self.parts = parts


Event = Mapping[str, Any]
Step = None | str | Event | tuple[str | Harmony, Event]
"""A pause; bytes as they are; an event, or a whole answer; or a text in pieces, and the event in which ``...`` stands for each of them."""


@dataclass(frozen=True, slots=True)
class Script:
    """One answer of a model server."""

    name: str
    """The model name that requests it."""
    steps: tuple[bytes | None, ...] = field(repr=False)
    shows: tuple[str, ...] = ()
    """The visible markers that must arrive."""
    ends: tuple[str, ...] = ("completed",)
    """The states in which the turn may end; if empty, the person stops it."""
    status: int = 200
    content_type: str = EVENTS
    headers: tuple[tuple[str, str], ...] = ()
    asides: tuple[str, ...] = ()
    """The scripts that only the product requests during this one."""
    withdrawn: tuple[str, ...] = ()
    """Places of hidden text that the server marks as hidden too late: until the product withdraws it, the person who asked may see it on
    their page, and nowhere else."""
    is_aside: bool = False
    """Only the product requests it, during another script that lists it in ``asides``."""
    thinks_seconds: float = 0.0
    """How long each pause lasts at least, so that lines of a summary appear."""


@dataclass(slots=True)
class Planter:
    """Makes the scripts of one ``kind`` of server. What ``hidden`` plants must stay hidden, what ``visible`` plants must arrive.

    ``bait``: a word next to each hidden marker; searching for it must find no more than searching for a word that does not exist.
    ``chooser`` chooses the cuts, and ``count`` rows of a long list (all if None).
    """

    kind: str
    hidden: Canary
    visible: Canary
    bait: str
    chooser: random.Random
    count: int | None = None
    vocabulary: Callable[[], Vocabulary] = connected.gpt_oss_vocabulary
    _planted: dict[tuple[bool, str], str] = field(default_factory=dict)
    _shown: dict[str, None] = field(default_factory=dict)

    def script(self, name: str, *steps: Step, withdrawn: str = "", headers: Event | None = None, **options: Any) -> Script:
        """A row as a Script; ``options``: its other fields. ``withdrawn``: the place of text that is marked too late.

        Raises:
            VocabularyError: the row has token ids, and the vocabulary is not on this machine.
        """
        self._shown, sent = {}, list[bytes | None]()
        is_ascii = self.chooser.random() < 0.5
        frame = partial(_event, is_ascii=is_ascii) if options.get("content_type", EVENTS) == EVENTS else _whole
        for pauses, group in itertools.groupby(steps, lambda step: step is PAUSE):
            if pauses:
                sent += [PAUSE for _ in group]
            else:  # as a network may deliver it: cut at random bytes, even inside a character
                sent += self._pieces(b"".join(self._sent(group, frame)), _MAX_PIECE_BYTES)
        places = (f"{self.kind}: {withdrawn}",) if withdrawn else ()
        lines = tuple(self.filled(headers or {}).items())
        return Script(name, tuple(sent), tuple(self._shown), withdrawn=places, headers=lines, **options)

    def some(self, of: Sequence[One]) -> list[One]:
        """As many of a long list as the run plays."""
        return sample(of, self.count, self.chooser)

    def filled(self, value: Any, piece: object = "") -> Any:
        """A row's value with its markers and token ids, and with ``piece`` in place of ``...``."""
        match value:
            case str():
                return _PLACE.sub(self._marker, value)
            case Harmony():
                vocabulary = self.vocabulary()  # first: without it nothing may be planted that is never sent
                parts = enumerate(map(self.filled, value.parts))
                ids = (vocabulary.encode(part) if at % 2 else ids_of_pieces(pieces_of_text(part), vocabulary) for at, part in parts)
                return [*itertools.chain.from_iterable(ids)]
            case Mapping():
                return {key: self.filled(one, piece) for key, one in value.items()}
            case list() | tuple():
                return [self.filled(one, piece) for one in value]
            case EllipsisType():
                return piece
        return value

    def _marker(self, found: re.Match[str]) -> str:
        """The marker for a place in a script: the same one at each mention, because an answer may repeat a text."""
        kind, place = found.groups()
        is_shown = kind == "+"
        if (is_shown, place) not in self._planted:
            self._planted[is_shown, place] = (self.visible if is_shown else self.hidden).plant(f"{self.kind}: {place}")
        marker = self._planted[is_shown, place]
        if is_shown:
            self._shown[marker] = None
        return f"{marker} {self.bait} is what nobody may read." if kind == "?" else marker

    def _sent(self, steps: Iterator[Step], frame: Callable[[Event], bytes]) -> Iterator[bytes]:
        for step in steps:
            match step:
                case str():
                    yield self.filled(step).encode()
                case (text, event):
                    yield from (frame(self.filled(event, piece)) for piece in self._pieces(self.filled(text), _MAX_PIECE))
                case _:
                    yield frame(self.filled(step))

    def _pieces(self, whole: Any, most: int) -> Iterator[Any]:
        """A text, bytes or ids, cut at random: servers send a few characters at a time, so that a marker is cut in two."""
        while whole:
            length = self.chooser.randint(1, most)
            yield whole[:length]
            whole = whole[length:]


def _event(data: Event, *, is_ascii: bool) -> bytes:
    head = f"event: {data['type']}\n" if "type" in data else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=is_ascii)}\n\n".encode()


def _whole(data: Event) -> bytes:
    return json.dumps(data).encode()


@dataclass(frozen=True, slots=True)
class Shape:
    """An answer of the catalogue."""

    name: str
    text: str = field(repr=False)
    """``{hidden}`` and ``{shown}`` stand for its texts."""
    shows: bool = False
    """Whether the rest of the answer is shown, however it is cut."""

    def filled(self, hidden: str, shown: str) -> str:
        return self.text.replace("{hidden}", hidden).replace("{shown}", shown)


def all_shapes() -> list[Shape]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [Shape(row["id"], row["text"], row.get("shows", False)) for row in map(json.loads, lines)]


def sample(of: Sequence[One], count: int | None, chooser: random.Random) -> list[One]:
    """``count`` random items in their order; all if ``count`` is None. Over many days, all are used."""
    if count is None or count >= len(of):
        return list(of)
    return [of[number] for number in sorted(chooser.sample(range(len(of)), count))]
