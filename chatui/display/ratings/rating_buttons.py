"""The rating buttons (thumbs) below an answer, for the person who may use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from chatui.models import Conversation, Rating
from chatui.models.turn import TurnState


@dataclass(frozen=True, slots=True)
class ShownRating:
    """What can be rated, and how it is: ``up``, ``down`` or empty."""

    message_id: str
    verdict: str = ""


def unrated(row: Conversation, turn_id: str, state: str, finals: Sequence[str]) -> ShownRating | None:
    """The thumbs of an answer that nobody has rated: of the last of its final messages. None while it is written, of an import, where
    there is no answer, and in a temporary conversation."""
    if row.temporary_until is not None or not turn_id or state == TurnState.RUNNING or not finals:
        return None
    return ShownRating(finals[-1])


def verdicts_of(row: Conversation, messages: Iterable[str]) -> dict[str, str]:
    """The owner's ratings of these answers, by message: one statement, and none for no message."""
    keys = [UUID(message) for message in messages]
    found = Rating.objects.filter(message__in=keys, person=row.owner_id).values_list("message_id", "verdict") if keys else ()
    return {str(message): verdict for message, verdict in found}
