"""The size budget of one sample: how much a model may still write."""

from __future__ import annotations


class Allowance:
    """Counted where text arrives, so that text that is held back is limited too."""

    def __init__(self, chars: int) -> None:
        self._left = chars

    @property
    def is_spent(self) -> bool:
        """Whether the limit was exceeded."""
        return self._left < 0

    def take(self, text: str) -> str:
        """``text`` up to the limit."""
        room = max(self._left, 0)
        self.spend(len(text))
        return text[:room]

    def spend(self, chars: int) -> None:
        """Count text that arrived in another way."""
        self._left -= chars
