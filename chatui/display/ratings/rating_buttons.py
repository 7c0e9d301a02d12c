"""The rating buttons (thumbs up and down) below an answer, for the person who may use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from chatui.models import Conversation, Rating
from chatui.models.turn import TurnState


@dataclass(frozen=True, slots=True)
class ShownRating:
    """The message that can be rated, and its rating: ``up``, ``down`` or empty."""

    message_id: str
    verdict: str = ""


def unrated(row: Conversation, turn_id: str, state: str, finals: Sequence[str]) -> ShownRating | None:
    """The buttons of an answer without a rating; they rate its last final message. None while the answer is being written, for an import,
    without an answer, and in a temporary conversation."""
    if row.temporary_until is not None or not turn_id or state == TurnState.RUNNING or not finals:
        return None
    return ShownRating(finals[-1])


def verdicts_of(row: Conversation, messages: Iterable[str]) -> dict[str, str]:
    """The owner's ratings of these answers, by message. One statement; none without messages."""
    keys = [UUID(message) for message in messages]
    found = Rating.objects.filter(message__in=keys, person=row.owner_id).values_list("message_id", "verdict") if keys else ()
    return {str(message): verdict for message, verdict in found}
