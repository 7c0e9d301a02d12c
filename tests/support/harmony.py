"""Harmony as text: what is read of a completion, and how a body is written that spells a marker."""

from collections.abc import Callable, Sequence
from typing import Any

from renderer.events import Finished
from renderer.harmony import pieces
from renderer.harmony.pieces import Piece
from renderer.harmony.pieces import escaped as escaped
from renderer.harmony.pieces import unescaped as unescaped
from renderer.harmony.reader import HarmonyReader


def read_completion(text: str, new_call_id: Callable[[], str] = lambda: "c1") -> list[Finished]:
    """The frames of a whole completion, which begins behind ``<|start|>assistant``."""
    return pieces.read_completion(text, new_call_id)


def fold(parts: Sequence[Piece], reader: HarmonyReader) -> list[Finished]:
    """The frames that a reader makes of pieces."""
    return pieces.fold(parts, reader)


def messages(parts: Sequence[Piece]) -> list[Any] | None:
    """The messages of well-formed Harmony; None if it is not."""
    return pieces.messages(parts)
