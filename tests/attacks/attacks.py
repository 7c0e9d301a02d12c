"""The collection of attacks: HTML and Markdown written to get something past a renderer."""

import gzip
import json
import os
import random
from pathlib import Path
from typing import NamedTuple

OWN = Path(__file__).parent / "own.jsonl.gz"
_SIBLING = Path(__file__).resolve().parents[3] / "shared"
LARGER = Path(os.environ.get("CHATUI_SHARED_DIR", _SIBLING)) / "data" / "attacks" / "corpus.jsonl.gz"


class Attack(NamedTuple):
    """One attack: its name, its origin, and the text."""

    name: str
    source: str
    text: str


def own() -> list[Attack]:
    """The attacks in the repository."""
    return read(OWN)


def everything() -> list[Attack]:
    """The attacks in the repository, and the larger collection in ``CHATUI_SHARED_DIR`` (or a directory next to it), without duplicates."""
    found = [*own(), *(read(LARGER) if LARGER.is_file() else [])]
    return list({attack.text: attack for attack in found}.values())


def read(path: Path) -> list[Attack]:
    """Read compressed JSON lines with ``id``, ``source`` and ``payload``."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Attack(row["id"], row["source"], row["payload"]) for row in rows]


def sample(attacks: list[Attack], count: int, seed: int) -> list[Attack]:
    """A random sample of this size, always the same for the same seed."""
    return random.Random(seed).sample(attacks, min(count, len(attacks)))
