"""Builds the request that continues a sample where the rest must fit a schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from chatui.backends.harmony.dialect import CompletionRequest
from renderer.harmony.pieces import Marker, Piece, ids_of_pieces
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary
from renderer.tokens import Token

_MARKERS = frozenset(token.value for token in MARKER_IDS)


def continued_request(asked: CompletionRequest, pieces: Iterable[Piece], vocabulary: Vocabulary) -> CompletionRequest:
    """The same request with ``pieces``, which end where the answer begins, added to its prompt.

    It also announces JSON as gpt-oss was trained to: otherwise a model that was about to write something else fills the grammar with white
    space. Slow for a long text.
    """
    ids = ids_of_pieces(_announced([*_joined(pieces)]), vocabulary)
    return replace(asked, ids=[*asked.ids, *ids], max_tokens=max(asked.max_tokens - len(ids), 1))


def _announced(pieces: list[Piece]) -> list[Piece]:
    begin = max((place for place, piece in enumerate(pieces) if piece == Marker(Token.CHANNEL)), default=0)
    if Marker(Token.CONSTRAIN) in pieces[begin:]:
        return pieces
    return [*pieces[:-1], " ", Marker(Token.CONSTRAIN), "json", *pieces[-1:]]


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Joins neighbouring texts, because they are encoded together. Markers without an id are left out."""
    for is_marker, group in groupby(pieces, key=lambda piece: isinstance(piece, Marker)):
        if is_marker:
            yield from (piece for piece in group if isinstance(piece, Marker) and piece.token in _MARKERS)
        else:
            yield "".join(piece for piece in group if isinstance(piece, str))
