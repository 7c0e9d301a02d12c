"""Access notices tell owners when staff opened the hidden channels of their conversations. Off by default."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils import timezone

from chatui.env import environment
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import User
from chatui.permissions import access

_MAX_NOTICES = 200


@dataclass(frozen=True, slots=True)
class AccessNotice:
    """A notice to an owner that the hidden channels of a conversation were opened, and when (UTC)."""

    conversation_title: str
    url: str
    opened_at: datetime


def are_enabled() -> bool:
    """Whether this deployment notifies owners (``CHATUI_TELL_OWNERS``)."""
    return environment().tell_owners


def undismissed(person: User, row: Conversation) -> list[AccessNotice]:
    """The notices of this conversation that its owner has not dismissed, the latest first. Empty for everybody but the owner."""
    if not are_enabled() or row.owner_id != person.pk:
        return []
    return _notices(_of(person).filter(conversation=row, owner_dismissed_at=None))


@dataclass(frozen=True, slots=True)
class AccessNews:
    """The latest notice that a person has not dismissed. ``others``: how many other conversations have such notices."""

    notice: AccessNotice
    conversation_id: UUID
    others: int


def news(person: User) -> AccessNews | None:
    """The latest undismissed notice, for pages that show no conversation. One statement, or none if notices are off."""
    if not are_enabled():
        return None
    rows = list(_of(person).filter(owner_dismissed_at=None).select_related("conversation").order_by("-asked_at")[:_MAX_NOTICES])
    if not rows:
        return None
    latest = max(rows, key=_opened_at)
    return AccessNews(_notice(latest), latest.conversation_id, len({row.conversation_id for row in rows}) - 1)


def all_for(person: User) -> list[AccessNotice]:
    """The latest 200 notices of all conversations of a person, dismissed or not.

    Raises:
        NotFoundError: access notices are off.
    """
    if not are_enabled():
        raise access.NotFoundError
    return _notices(_of(person))


def dismiss(person: User, conversation_id: UUID) -> Conversation:
    """Dismiss the notices of a conversation. They remain in the list of all notices.

    Raises:
        NotFoundError: the conversation is not theirs.
    """
    row = access.own_conversation(person, conversation_id)
    _of(person).filter(conversation=row, owner_dismissed_at=None).update(owner_dismissed_at=timezone.now())
    return row


def _of(person: User) -> QuerySet[DebugRequest]:
    """Other people's debug requests for the person's conversations that were opened: one that was not approved showed nothing."""
    mine = DebugRequest.objects.filter(conversation__owner=person, conversation__deleted_at=None)
    return mine.exclude(person=F("conversation__owner")).exclude(expires_at=None)


def _notices(requests: QuerySet[DebugRequest]) -> list[AccessNotice]:
    rows = requests.select_related("conversation").order_by("-asked_at")[:_MAX_NOTICES]
    return sorted(map(_notice, rows), key=lambda notice: notice.opened_at, reverse=True)


def _notice(row: DebugRequest) -> AccessNotice:
    return AccessNotice(row.conversation.title, reverse("conversation", args=[row.conversation_id]), _opened_at(row))


def _opened_at(request: DebugRequest) -> datetime:
    """When the debug view was opened: for a request that needed approval, the time of the approval."""
    return request.decided_at or request.asked_at
