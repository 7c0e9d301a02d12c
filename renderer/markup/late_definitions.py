"""Closed blocks that wait for a definition which comes later in the text, and what it costs to render them once more."""

from __future__ import annotations

from renderer.markup.markdown import Block
from renderer.markup.parse_triggers import SMALL


class Waiting:
    """Closed blocks that asked for definitions which had not come, by label; and how much work their patching has been."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[Block, str, set[str]]] = {}
        self._by_label: dict[str, set[int]] = {}
        self._late: set[int] = set()
        self._work = 0

    def add(self, index: int, block: Block, source: str, missed: set[str]) -> None:
        """Block ``index`` was rendered from ``source`` and asked for the labels in ``missed``; where it missed none, it does not wait."""
        if missed:
            self._blocks[index] = (block, source, missed)
        for label in missed:
            self._by_label.setdefault(label, set()).add(index)

    def take(self, index: int) -> tuple[Block, str]:
        """A block that is to be rendered once more, and its source. It waits no longer."""
        block, source, missed = self._blocks.pop(index)
        for label in missed:
            self._by_label[label].discard(index)
        self._late.discard(index)
        return block, source

    def affordable(self, labels: set[str], taken: int) -> set[int]:
        """The blocks that these labels complete, but for those that would make patching cost more than the text: they wait for the end."""
        indices = set().union(*(self._by_label.get(label, ()) for label in labels))
        now = set()
        for index in sorted(indices):
            size = len(self._blocks[index][1])
            if self._work + size <= 4 * taken + SMALL:
                self._work += size
                now.add(index)
        self._late |= indices - now
        return now

    def all_found(self) -> set[int]:
        """The blocks whose patching was put off."""
        return set(self._late)
