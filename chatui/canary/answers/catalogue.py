"""The catalogue of answer shapes in which servers without a parser for their model deliver hidden text.

``shapes.jsonl`` has one per line. ``{hidden}`` is replaced by hidden text, ``{shown}`` by text of the answer. ``late``: people may have
read the hidden text before the sign arrived and it was withdrawn. ``shows``: the rest of the answer is shown, however it is cut.
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
    """One answer. ``text``: a template with placeholders for hidden and visible text in braces."""

    name: str
    text: str = field(repr=False)
    is_late: bool = False
    shows: bool = False

    def filled(self, hidden: str, shown: str) -> str:
        """The answer with these texts."""
        return self.text.replace("{hidden}", hidden).replace("{shown}", shown)


def all_shapes() -> list[Shape]:
    """All shapes, in the order of the file."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [Shape(row["id"], row["text"], row.get("late", False), row.get("shows", False)) for row in map(json.loads, lines)]


def sample(of: Sequence[One], count: int | None, chooser: random.Random) -> list[One]:
    """``count`` random items in their order; all if ``count`` is None. Over many days, all are used."""
    if count is None or count >= len(of):
        return list(of)
    return [of[number] for number in sorted(chooser.sample(range(len(of)), count))]
