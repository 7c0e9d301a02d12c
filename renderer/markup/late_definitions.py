"""Tracks closed blocks that wait for a link definition further down."""

from __future__ import annotations

from renderer.markup.markdown import Block
from renderer.markup.parse_triggers import SMALL_WORK
from renderer.markup.tails import cost_of


class WaitingBlocks:
    """Closed blocks that wait for definitions, by label. ``cost``: what rendering them all again costs."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[Block, str, set[str]]] = {}
        self._by_label: dict[str, set[int]] = {}
        self._postponed: set[int] = set()
        self._work = 0
        self.cost = 0

    def add(self, index: int, block: Block, source: str, missed: set[str]) -> None:
        """Add block ``index``, rendered from ``source`` without the labels in ``missed``. With none missed, it does not wait."""
        if missed:
            self._blocks[index] = (block, source, missed)
            self.cost += cost_of(source)
        for label in missed:
            self._by_label.setdefault(label, set()).add(index)

    def take(self, index: int) -> tuple[Block, str]:
        """Remove a block that is to be rendered again, and return its source."""
        block, source, missed = self._blocks.pop(index)
        self.cost -= cost_of(source)
        for label in missed:
            self._by_label[label].discard(index)
        self._postponed.discard(index)
        return block, source

    def affordable(self, labels: set[str], taken: int) -> set[int]:
        """The blocks that these labels complete. If rendering them again would cost more than the text itself, they wait for the end."""
        indices = set().union(*(self._by_label.get(label, ()) for label in labels))
        now = set()
        for index in sorted(indices):
            size = len(self._blocks[index][1])
            if self._work + size <= 4 * taken + SMALL_WORK:
                self._work += size
                now.add(index)
        self._postponed |= indices - now
        return now

    def postponed(self) -> set[int]:
        """The blocks whose rendering was put off until the end."""
        return set(self._postponed)
