"""The rating below an answer, as pages show it to whoever gave it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from chatui.models import Conversation, Rating
from chatui.models.turn import TurnState

if TYPE_CHECKING:
    from chatui.display.conversation import ShownAnswer, ShownExchange, ShownPart


@dataclass(frozen=True, slots=True)
class ShownRating:
    """What can be rated, and how it is: ``up``, ``down`` or empty."""

    message_id: str
    verdict: str = ""


def unrated(turn_id: str, state: str, parts: Sequence[ShownPart]) -> ShownRating | None:
    """The thumbs of an answer that nobody has rated: of its last final message. None while it is written, of an import, and where there
    is no answer."""
    finals = [part for part in parts if part.kind == "final"]
    return ShownRating(finals[-1].message_id) if turn_id and state != TurnState.RUNNING and finals else None


def with_ratings(row: Conversation, exchanges: Iterable[ShownExchange]) -> list[ShownExchange]:
    """The exchanges with what their owner said of the answers: one statement, and none where nothing can be rated."""
    found = list(exchanges)
    keys = [UUID(exchange.answer.rated.message_id) for exchange in found if exchange.answer and exchange.answer.rated]
    if not keys:
        return found
    ratings = Rating.objects.filter(message__in=keys, person=row.owner_id).values_list("message_id", "verdict")
    verdicts = {str(message): verdict for message, verdict in ratings}
    return [replace(each, answer=each.answer and _with(each.answer, verdicts)) for each in found]


def _with(answer: ShownAnswer, verdicts: dict[str, str]) -> ShownAnswer:
    rated = answer.rated
    return replace(answer, rated=replace(rated, verdict=verdicts.get(rated.message_id, ""))) if rated else answer
