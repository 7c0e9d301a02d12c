"""Reads the token ids in one chunk of a server's answer, and the token that ended it. Unreadable ids are an error."""

from __future__ import annotations

from chatui.backends.base import BackendError, EndReason
from chatui.backends.speaker import Label
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.harmony.pieces import Marker, Piece, TokenPieces
from renderer.harmony.reader import END_OF_TEXT
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary, marker_name
from renderer.tokens import TERMINATORS, Token

STOP_IDS = (MARKER_IDS[Token.RETURN], MARKER_IDS[Token.CALL])
UNKNOWN_STOP = Marker(Token.END)
"""Represents the token that ended the output if the server does not say which one it was."""


class IdReader:
    """Complete ids in, pieces out, including the final token, which some servers only name."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._reader = TokenPieces(vocabulary)
        self._was_stopped = False

    def feed(self, ids: list[int]) -> list[Piece]:
        """The pieces of these ids."""
        pieces = self._reader.feed(ids)
        self._was_stopped = self._was_stopped or any(map(is_stop, pieces))
        return pieces

    def end(self, reason: EndReason, named: object) -> list[Piece]:
        """The output ended. ``named``: the stop token's id, as the server reports it."""
        rest = self._reader.finish()
        if reason is not EndReason.STOP or self._was_stopped:
            return rest
        name = marker_name(named) if isinstance(named, int) else None
        return [*rest, Marker(name) if name else UNKNOWN_STOP]


def is_stop(piece: Piece) -> bool:
    """Whether a piece is a marker at which the model stops by itself."""
    return isinstance(piece, Marker) and (piece.token in TERMINATORS - {Token.END} or piece.token == END_OF_TEXT)


def end_reason(reported: object) -> EndReason:
    """Why the output ended. Raises BackendError if neither the model nor the token limit ended it."""
    match reported:
        case "stop":
            return EndReason.STOP
        case "length":
            return EndReason.LENGTH
    raise BackendError(Code.STREAM_TRUNCATED, f"the server ended the answer for a reason of its own: {reported!r:.200}")


def token_ids(value: object) -> list[int]:
    """The ids of an event. Raises BackendError if they are not valid ids."""
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise BackendError(ProductCode.BACKEND, "the token ids of an event are no list of whole numbers")
    return value


def refuse(label: Label | None) -> None:
    """The error for a chunk with an unknown label: it may apply to any of its ids, so none of them is read."""
    if label:
        raise BackendError(ProductCode.BACKEND, f"The server calls what it sends something else than the answer: {label.name!r:.60}")


def no_ids() -> BackendError:
    """The error for text without ids."""
    return BackendError(
        ProductCode.BACKEND_SETUP,
        "The server sends text without token ids, so hidden text could not be told from the answer. Use kind chat for it.",
    )


def count(value: object) -> int | None:
    """A token count; None if the server gives none."""
    return value if type(value) is int else None


def model_name(value: object) -> str | None:
    """The server's name for the model; None if it gives none."""
    return value if isinstance(value, str) and value else None
