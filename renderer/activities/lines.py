"""Decides which lines of a turn's reasoning summary appear, and when. Every limit on which the bound in ``docs/summaries.md`` rests is
enforced here, behind every source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from renderer.activities.activity import Activity

TICKS = (3.0, 6.0, 9.0, 13.5, 20.0, 30.0, 45.0, 68.0)
"""The seconds of a turn at which a line may appear, all its rounds together."""


@dataclass(frozen=True, slots=True)
class Written:
    """What the person wrote and may see. ``question``: of this turn. ``earlier``: their questions before it, the oldest first. ``files``:
    names of their files. ``has_tools``, ``has_image``: whether the turn offers tools, or an image is attached."""

    question: str = field(repr=False)
    earlier: Sequence[str] = field(default=(), repr=False)
    files: Sequence[str] = field(default=(), repr=False)
    has_tools: bool = False
    has_image: bool = False


class ActivityLines:
    """The lines of one turn. ``feed`` takes reasoning as it streams, ``propose`` a kind from another source; ``judge`` is called at each
    tick."""

    def __init__(self, written: Written, *, reads: bool = True) -> None:
        """``reads``: whether reasoning is read here where no other source has proposed a kind (built-in)."""
        self.shown: list[Activity] = []

    @property
    def next_tick(self) -> float | None:
        """When ``judge`` is to be called next, in seconds of the turn; None: no line can appear any more."""
        raise NotImplementedError

    def feed(self, text: str) -> None:
        """More reasoning."""
        raise NotImplementedError

    def propose(self, doing: str | None) -> None:
        """The kind that another source names for the time since the last tick; None: it names none. The newest counts."""
        raise NotImplementedError

    def judge(self, seconds: float) -> Activity | None:
        """The line that appears now, if any. Once for each tick; between ticks nothing appears."""
        raise NotImplementedError

    def possible(self) -> list[str]:
        """The kinds that may still appear, in the order of the table: from these a summarizer chooses."""
        raise NotImplementedError
