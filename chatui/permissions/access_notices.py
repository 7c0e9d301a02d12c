"""Access notices tell owners when staff opened the hidden channels of their conversations. Off by default."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatui.env import environment
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import User
from chatui.permissions import access

_MAX_NOTICES = 200


def are_enabled() -> bool:
    """Whether this deployment notifies owners (``CHATUI_TELL_OWNERS``)."""
    return environment().tell_owners


def undismissed(person: User, row: Conversation) -> list[DebugRequest]:
    """The notices of this conversation that its owner has not dismissed, the latest first. Empty for everybody but the owner."""
    if not are_enabled() or row.owner_id != person.pk:
        return []
    return list(_of(person).filter(conversation=row, owner_dismissed_at=None)[:_MAX_NOTICES])


@dataclass(frozen=True, slots=True)
class AccessNews:
    """The latest notice that a person has not dismissed. ``others``: how many other conversations have such notices."""

    notice: DebugRequest
    others: int


def news(person: User) -> AccessNews | None:
    """The latest undismissed notice, for pages that show no conversation. One statement, or none if notices are off."""
    rows = list(_of(person).filter(owner_dismissed_at=None)[:_MAX_NOTICES]) if are_enabled() else []
    return AccessNews(rows[0], len({row.conversation_id for row in rows}) - 1) if rows else None


def all_for(person: User) -> list[DebugRequest]:
    """The latest 200 notices of all conversations of a person, dismissed or not. Raises NotFoundError if access notices are off."""
    if not are_enabled():
        raise access.NotFoundError
    return list(_of(person)[:_MAX_NOTICES])


def dismiss(person: User, conversation_id: UUID) -> Conversation:
    """Dismiss the notices of a conversation, which remain in the list of all. Raises NotFoundError if the conversation is not theirs."""
    row = access.own_conversation(person, conversation_id)
    _of(person).filter(conversation=row, owner_dismissed_at=None).update(owner_dismissed_at=timezone.now())
    return row


def _of(person: User) -> QuerySet[DebugRequest]:
    """Other people's debug requests for the person's conversations that were opened: one that was not approved showed nothing.

    The latest first: each has a title and ``opened_at`` (UTC), which is the time of the approval if it needed one.
    """
    mine = DebugRequest.objects.filter(conversation__owner=person, conversation__deleted_at=None).select_related("conversation")
    opened = mine.exclude(person=F("conversation__owner")).exclude(expires_at=None)
    return opened.annotate(opened_at=Coalesce("decided_at", "asked_at")).order_by("-opened_at")
