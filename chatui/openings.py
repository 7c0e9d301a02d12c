"""Requests for a debug view that a second person approves or declines, never the one who asked; each decision is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui import access, audit, conf
from chatui.access import NotFoundError
from chatui.audit import Visitor
from chatui.models import Conversation, DebugOpening, User

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """One request, without a word of the conversation. ``is_own``: of the person who looks, who cannot decide it."""

    id: str
    conversation_id: str
    person_name: str
    owner_name: str
    reason: str
    minutes: int
    asked_at: datetime
    is_own: bool


@dataclass(frozen=True, slots=True)
class Open:
    """A debug view that is open: why, until when, how many seconds from now, and who approved it (empty where nobody had to)."""

    reason: str
    expires_at: datetime
    seconds: int
    approved_by: str


def waiting(visitor: Visitor) -> list[ShownRequest]:
    """What waits for a second person, of the conversations that this person may look into, and their own requests; the oldest first.

    Raises:
        NotFoundError: for everybody without the permission to see hidden channels.
    """
    user = visitor.user
    if user is None or not access.can_see_hidden(user):
        raise NotFoundError
    return [_shown(asked, user) for asked in _listed(user).order_by("asked_at")[:_SHOWN]]


def to_decide(user: User | None) -> int | None:
    """How many requests wait for this person's decision; None where there is nothing to decide for them at all."""
    if user is None or not conf.environment().debug_approval or not access.can_see_hidden(user):
        return None
    return _listed(user).exclude(person=user).count()


def own_request(visitor: Visitor, conversation: Conversation) -> ShownRequest | None:
    """The visitor's request for this conversation that still waits."""
    asked = access.requests_to_open().filter(conversation=conversation, person=visitor.user).first()
    return _shown(asked, visitor.user) if asked else None


def open_view(visitor: Visitor, conversation: Conversation) -> Open | None:
    """The debug view of a conversation that is open to this person; None where none is."""
    found = access.opening(visitor, conversation)
    if found is None or found.expires_at is None:
        return None
    left = (found.expires_at - timezone.now()).total_seconds()
    return Open(found.reason, found.expires_at, max(0, int(left)), found.decided_by.get_username() if found.decided_by else "")


def decide(visitor: Visitor, conversation_id: object, opening_id: UUID, *, approves: bool) -> None:
    """Approve a request, whose time begins now, or decline it. Once, and recorded.

    Raises:
        RefusedError: without the permission for this conversation, or the request is one's own; recorded as ``E-PERM-VISIBILITY``.
        NotFoundError: no such request waits in this conversation, or who asked may not look any more.
    """
    action = "approve debug view" if approves else "decline debug view"
    conversation = access.debuggable_conversation(visitor, conversation_id, action=action)
    found = access.requests_to_open().filter(conversation=conversation, pk=opening_id)
    if found.filter(person=visitor.user).exists():
        access.refuse(visitor, conversation.pk, action)
    with transaction.atomic():
        # Locked, so that of two people who decide at once only the first does, and a decision cannot be played again.
        asked = found.select_for_update(of=("self",)).first()
        if asked is None or (approves and not access.may_look(asked.person, conversation)):
            raise NotFoundError
        _decide(asked, visitor, approves=approves)
        audit.record(action, visitor, conversation=conversation, detail=f"for {asked.person.get_username()}: {asked.reason}")


def _listed(user: User) -> QuerySet[DebugOpening]:
    asked = access.requests_to_open()
    return asked if access.can_view_any(user) else asked.filter(Q(conversation__owner=user) | Q(person=user))


def _decide(asked: DebugOpening, visitor: Visitor, *, approves: bool) -> None:
    now = timezone.now()
    asked.decided_by, asked.decided_at = visitor.user, now
    if approves:
        asked.expires_at = now + timedelta(minutes=min(asked.minutes, access.opening_choices()[-1]))
    else:
        asked.closed_at = now
    asked.save(update_fields=["decided_by", "decided_at", "expires_at", "closed_at"])


def _shown(asked: DebugOpening, user: User | None) -> ShownRequest:
    return ShownRequest(
        id=str(asked.pk),
        conversation_id=str(asked.conversation_id),
        person_name=asked.person.get_username(),
        owner_name=asked.conversation.owner.get_username(),
        reason=asked.reason,
        minutes=asked.minutes,
        asked_at=asked.asked_at,
        is_own=asked.person == user,
    )
