"""The catalogue of answer shapes in which servers without a parser for their model deliver hidden text.

``shapes.jsonl`` has one to a line. ``{hidden}`` stands for hidden text, ``{shown}`` for text of the answer. ``late``: a person may have
read the hidden text before the sign came, which is then withdrawn. ``shows``: what is left of the answer arrives, however it is cut.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

One = TypeVar("One")
_FILE = Path(__file__).with_name("shapes.jsonl")


@dataclass(frozen=True, slots=True)
class Shape:
    """One answer. ``text`` has the places of hidden and of visible text in braces."""

    name: str
    text: str = field(repr=False)
    is_late: bool = False
    shows: bool = False

    def filled(self, hidden: str, shown: str) -> str:
        """The answer with these texts in it."""
        return self.text.replace("{hidden}", hidden).replace("{shown}", shown)


def all_shapes() -> list[Shape]:
    """All of them, in the order of the file."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [Shape(row["id"], row["text"], row.get("late", False), row.get("shows", False)) for row in map(json.loads, lines)]


def sample(of: Sequence[One], count: int | None, chooser: random.Random) -> list[One]:
    """``count`` of them in their order, chosen by chance; all where ``count`` is None. Runs of many days see all of them."""
    if count is None or count >= len(of):
        return list(of)
    return [of[number] for number in sorted(chooser.sample(range(len(of)), count))]
