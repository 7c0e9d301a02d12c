"""The size budget of one sample: how much a model may still write."""

from __future__ import annotations


class Allowance:
    """Counted where text comes in, so that what is held back on its way is bounded too."""

    def __init__(self, chars: int) -> None:
        self._left = chars

    @property
    def is_spent(self) -> bool:
        """Whether more came than may."""
        return self._left < 0

    def take(self, text: str) -> str:
        """As much of ``text`` as may still come."""
        room = max(self._left, 0)
        self.spend(len(text))
        return text[:room]

    def spend(self, chars: int) -> None:
        """Count what came in another way."""
        self._left -= chars
