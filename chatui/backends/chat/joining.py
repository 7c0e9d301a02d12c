"""Merges chunks of a Chat Completions stream that were read together and differ only in their text.

A chunk holds one token. Merged, they pass through every later step at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chatui.backends.sse import ServerSentEvent

_TEXTS = ("content", "reasoning_content", "reasoning")
Decoded = tuple[ServerSentEvent, Any]
"""An event, and its decoded JSON; None if it is not JSON."""


@dataclass(slots=True)
class _Piece:
    """A chunk with text in one field of its delta, and nothing else. The text was removed from it."""

    event: ServerSentEvent
    chunk: dict[str, Any]
    delta: dict[str, Any]
    name: str
    texts: list[str] = field(repr=False)

    def matches(self, other: _Piece) -> bool:
        """Whether the other one is the same, apart from its text."""
        return self.name == other.name and self.chunk == other.chunk

    def joined(self) -> Decoded:
        self.delta[self.name] = "".join(self.texts)
        return self.event, self.chunk


def joined(events: Iterable[Decoded]) -> Iterator[Decoded]:
    """The same events, with fewer and longer texts. White space at the beginning is not merged: by itself it can mean something else."""
    pending: _Piece | None = None
    for event, chunk in events:
        piece = _piece_of(event, chunk)
        if pending and piece and pending.matches(piece):
            pending.texts += piece.texts
            continue
        if pending:
            yield pending.joined()
        pending = piece if piece and not piece.texts[0].isspace() else None
        if pending is None:
            yield piece.joined() if piece else (event, chunk)
    if pending:
        yield pending.joined()


def _piece_of(event: ServerSentEvent, chunk: Any) -> _Piece | None:
    """Removes the text from the chunk if it can be merged."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    delta = choice.get("delta") if isinstance(choice, dict) and not choice.get("finish_reason") else None
    if event.name or not isinstance(delta, dict):
        return None
    fields = [name for name, value in delta.items() if value is not None and value != "" and name != "role"]
    if len(fields) != 1 or fields[0] not in _TEXTS or not isinstance(text := delta[fields[0]], str):
        return None
    delta[fields[0]] = ""
    return _Piece(event, chunk, delta, fields[0], [text])
