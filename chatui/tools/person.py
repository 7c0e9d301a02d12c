"""The interface by which a tool speaks to the person in whose turn it is called, beside its result, which is for the model."""

from __future__ import annotations

from typing import Protocol


class TurnPerson(Protocol):
    """The owner of the conversation. What is said to them, nobody else gets: no model, link, file or program. All methods may be called
    from any event loop."""

    async def tell(self, speaker: str, text: str) -> bool:
        """Show the person a text, as it is and under the name of ``speaker``, below the answer. Returns whether it will be shown: a turn
        has room for a bounded number of them."""

    def report(self, speaker: str, percent: int | None, words: str) -> None:
        """Show how far a call is, in the line of work, while it runs. ``words``: of the server's, on one line, or empty."""
