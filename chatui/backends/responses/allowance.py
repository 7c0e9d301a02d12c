"""The size limits of one sample: how many characters the model may still write, and its token limit."""

from __future__ import annotations

from dataclasses import dataclass

from chatui.backends.base import Usage


class Allowance:
    """Counts text on arrival, so that buffered text is limited too."""

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
        """Count text that is not returned."""
        self._left -= chars


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """The token limit of a request.

    ``answer``: the request's limit; ``context``: that of prompt and answer together; None if there is none, or if it is unknown.
    """

    answer: int | None = None
    context: int | None = None

    def is_reached(self, usage: Usage) -> bool:
        """Whether the server must have cut the answer, whatever it reports."""
        written = usage.completion_tokens
        if written is None:
            return False
        if self.answer and written >= self.answer:
            return True
        return bool(self.context and usage.prompt_tokens and usage.prompt_tokens + written >= self.context)
