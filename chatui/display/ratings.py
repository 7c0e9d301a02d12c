"""A person's ratings of answers: stores or removes one with its reason, and prepares the buttons (thumbs up and down) below an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.database.connections import as_uuid
from chatui.database.statements import one_of, query
from chatui.models import ratings as models_ratings
from chatui.models.conversation import Conversation
from chatui.models.ratings import DOWN, Rating
from chatui.models.turn import TurnState
from chatui.permissions import access, ratings
from renderer import characters

MAX_CHARS = models_ratings.NOTE_CHARS
VERDICTS, REASONS = models_ratings.VERDICTS, models_ratings.REASONS
"""The choices, with their labels."""


@dataclass(frozen=True, slots=True)
class RatingInput:
    """A submitted rating. An empty ``verdict`` removes the rating."""

    verdict: str
    reason: str = ""
    note: str = field(default="", repr=False)


def current(visitor: Visitor, conversation_id: object, message_id: object) -> RatingInput:
    """This person's current rating of the answer. Raises the errors of ``ratings.ratable``."""
    message = ratings.ratable(visitor, conversation_id, message_id)
    row = Rating.objects.filter(message=message, person=visitor.user).first()
    return RatingInput(row.verdict, row.reason, row.note) if row else RatingInput("")


def rate(visitor: Visitor, conversation_id: object, message_id: object, given: RatingInput) -> bool:
    """Store a rating in place of an earlier one, or remove it. Returns whether it is valid: a rating of "down" needs a reason, and a note
    has a maximum length. Raises the errors of ``ratings.ratable``."""
    message, person = ratings.ratable(visitor, conversation_id, message_id), access.person_of(visitor)
    if not given.verdict:
        Rating.objects.filter(message=message, person=person).delete()
        return True
    note = characters.storable(given.note.strip())
    has_reason = given.verdict != DOWN or given.reason in dict(REASONS)
    if given.verdict not in dict(VERDICTS) or len(note) > MAX_CHARS or not has_reason:
        return False
    reason = given.reason if given.verdict == DOWN else ""
    values = {"verdict": given.verdict, "reason": reason, "note": note, "rated_at": timezone.now()}
    Rating.objects.update_or_create(message=message, person=person, defaults=values)
    return True


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
    if not keys:
        return {}
    select = "SELECT message_id, verdict FROM chatui_rating WHERE person_id = %s AND message_id"
    return {str(as_uuid(message)): verdict for message, verdict in query(f"{select} {one_of(keys)}", row.owner_id, *keys)}
