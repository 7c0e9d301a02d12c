"""What owners are told of staff who opened the hidden channels of their conversations: when, not who and not why. By a setting, off."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils import timezone

from chatui.env import environment
from chatui.models import Conversation, DebugRequest, User
from chatui.permissions import access

_MOST = 200


@dataclass(frozen=True, slots=True)
class Look:
    """That hidden channels of a conversation were opened at a time (UTC), for its owner to read."""

    conversation_title: str
    url: str
    opened_at: datetime


def are_told() -> bool:
    """Whether owners of this installation are told."""
    return environment().tell_owners


def at(row: Conversation, person: User) -> list[Look]:
    """Looks at this conversation by others that its owner has not put away yet, the latest first. Nothing for anybody else."""
    if not are_told() or row.owner_id != person.pk:
        return []
    return _looks(_of(person).filter(conversation=row, owner_dismissed_at=None))


def all_of(person: User) -> list[Look]:
    """Looks by others at all conversations of a person, put away or not; the latest 200.

    Raises:
        NotFoundError: owners are not told.
    """
    if not are_told():
        raise access.NotFoundError
    return _looks(_of(person))


def dismiss(person: User, conversation_id: UUID) -> Conversation:
    """Put the notice of a conversation away. It stays in the list of all.

    Raises:
        NotFoundError: the conversation is not theirs.
    """
    row = access.own_conversation(person, conversation_id)
    _of(person).filter(conversation=row, owner_dismissed_at=None).update(owner_dismissed_at=timezone.now())
    return row


def _of(person: User) -> QuerySet[DebugRequest]:
    """Openings that came about: a request that nobody approved showed nothing to anybody."""
    mine = DebugRequest.objects.filter(conversation__owner=person, conversation__deleted_at=None)
    return mine.exclude(person=F("conversation__owner")).exclude(expires_at=None)


def _looks(openings: QuerySet[DebugRequest]) -> list[Look]:
    rows = openings.select_related("conversation").order_by("-asked_at")[:_MOST]
    looks = [Look(row.conversation.title, reverse("conversation", args=[row.conversation_id]), _opened_at(row)) for row in rows]
    return sorted(looks, key=lambda look: look.opened_at, reverse=True)


def _opened_at(opening: DebugRequest) -> datetime:
    """An approved request was open from the approval on, not from the asking."""
    return opening.decided_at or opening.asked_at
