"""Small plots of bars: each in the units of its view box, with words for whoever points at it or has it read out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BAR_STEP, BAR_GAP, HEIGHT = 10, 2, 100


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    y: int
    height: int
    words: str


@dataclass(frozen=True, slots=True)
class Bars:
    """A plot. ``words``: what it shows, with all of its numbers if they stand nowhere else."""

    width: int
    bars: tuple[Bar, ...]
    words: str


def bars(values: Sequence[float], labels: Sequence[str], words: str) -> Bars:
    """A bar for each value, from zero; the highest takes the whole height. A value above zero is never without a bar."""
    most = max(values, default=0)
    shown = []
    for number, (value, label) in enumerate(zip(values, labels, strict=True)):
        height = int(-(-value * HEIGHT // most)) if most else 0
        shown.append(Bar(number * BAR_STEP + BAR_GAP // 2, HEIGHT - height, height, label))
    return Bars(len(shown) * BAR_STEP, tuple(shown), words)
