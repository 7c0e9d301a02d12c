"""Reads a model's token ids into raw events: the one way to read Harmony in which a quoted marker is never taken for a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from renderer.errors import Code, ErrorCode
from renderer.events import RawEvent
from renderer.harmony.pieces import Piece, TokenPieces
from renderer.harmony.reader import Reader
from renderer.harmony.vocabulary import Vocabulary


class TokenReader:
    """Ids in, raw events out. The ids begin where the prompt ends, behind ``<|start|>assistant``."""

    def __init__(self, vocabulary: Vocabulary, new_call_id: Callable[[], str], *, conversation: bool = False) -> None:
        """``conversation``: the ids are a whole conversation that we wrote, not what a model sampled."""
        self._pieces = TokenPieces(vocabulary)
        self._reader = Reader(new_call_id, conversation=conversation)

    @property
    def ended(self) -> bool:
        """Whether the turn is over, so that everything else is ignored and the upstream request can be stopped."""
        return self._reader.ended

    def feed(self, ids: Iterable[int]) -> list[RawEvent]:
        """The next ids, one or many."""
        return self._read(self._pieces.feed(ids))

    def finish(self, error: ErrorCode = Code.STREAM_TRUNCATED) -> list[RawEvent]:
        """No more ids come. What is open is closed as incomplete with ``error``."""
        return [*self._read(self._pieces.finish()), *self._reader.finish(error)]

    def _read(self, pieces: Iterable[Piece]) -> list[RawEvent]:
        events: list[RawEvent] = []
        for piece in pieces:
            events += self._reader.feed_text(piece) if isinstance(piece, str) else self._reader.feed_marker(piece.token)
        return events
