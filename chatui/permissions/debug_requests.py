"""The debug request: staff open, or ask to open, the hidden channels of a conversation, for a reason and a time; each step is recorded.

Where the operator wants a second person, somebody else approves or declines it, never the one who asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui.audit_log.record import Visitor, record
from chatui.codes import ProductCode
from chatui.env import environment
from chatui.models import Conversation, DebugRequest, User
from chatui.permissions import access, four_eyes
from chatui.permissions.access import NotFoundError

MINUTES = (15, 60, 240)
"""How long a debug view may be open, to choose from; the operator sets the longest."""
REASON_CHARS = range(10, 181)
"""How long a reason may be: a word is none, and what is longer does not fit into a line of the audit log."""
REQUEST_LASTS = timedelta(days=1)

_SHOWN = 100


class ReasonNeededError(Exception):
    """The debug view was asked for without a reason, or for a time that is not offered."""

    code = ProductCode.REASON


class NotIndependentError(Exception):
    """Who approves and who asked may be one: one of them made or changed the other's account. It has been recorded."""

    code = ProductCode.FOUR_EYES


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """One request, without a word of the conversation. ``is_own``: of the person who looks, who cannot decide it.

    ``rights``: what the two of them may do with accounts, in words. ``is_tied``: the person who looks cannot approve it, for one of the
    two made or changed the other's account.
    """

    id: str
    conversation_id: str
    person_name: str
    owner_name: str
    reason: str
    minutes: int
    asked_at: datetime
    is_own: bool
    is_tied: bool
    rights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """A debug view that is open: why, until when, how many seconds from now, and who approved it (empty where nobody had to)."""

    reason: str
    expires_at: datetime
    seconds: int
    approved_by: str


def minutes_to_choose() -> tuple[int, ...]:
    """For how many minutes a debug view may be opened, the shortest first."""
    most = environment().debug_open_minutes
    return tuple(minutes for minutes in MINUTES if minutes <= most) or (most,)


def open_debug_view(visitor: Visitor, conversation_id: object, reason: str, minutes: int | None = None) -> Conversation:
    """The explicit opt-in, for a reason and a time (the shortest unless said). Recorded; where a second person has to approve, it waits.

    Raises:
        RefusedError, NotFoundError: as ``debuggable_conversation``.
        ReasonNeededError: the reason is too short or too long, or the time is not offered.
    """
    waits = environment().debug_approval
    action = "ask for debug view" if waits else "open debug view"
    conversation = access.debuggable_conversation(visitor, conversation_id, action=action)
    minutes = minutes_to_choose()[0] if minutes is None else minutes
    if len(reason) not in REASON_CHARS or minutes not in minutes_to_choose():
        raise ReasonNeededError
    record(action, visitor, conversation, detail=f"{minutes} min: {reason}")
    now = timezone.now()
    # A person has at most one request; and a view that is opened once more counts from now.
    earlier = access.debug_requests_of(visitor, conversation)
    (earlier.filter(expires_at=None) if waits else earlier).update(closed_at=now)
    expires_at = None if waits else now + timedelta(minutes=minutes)
    DebugRequest.objects.create(
        conversation=conversation, person=access.person_of(visitor), reason=reason, minutes=minutes, expires_at=expires_at
    )
    return conversation


def close_debug_view(visitor: Visitor, conversation_id: object) -> Conversation:
    """Take the opt-in, or the request for one, back. Recorded where there was one."""
    conversation = access.debuggable_conversation(visitor, conversation_id, action="close debug view")
    now = timezone.now()
    if access.debug_requests_of(visitor, conversation).filter(Q(expires_at__gt=now) | Q(expires_at=None)).update(closed_at=now):
        record("close debug view", visitor, conversation)
    return conversation


def requests_to_open() -> QuerySet[DebugRequest]:
    """Everybody's requests that wait for a second person."""
    return DebugRequest.objects.filter(
        expires_at=None, decided_at=None, closed_at=None, asked_at__gt=timezone.now() - REQUEST_LASTS, conversation__deleted_at=None
    ).select_related("conversation__owner", "person")


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
    if user is None or not environment().debug_approval or not access.can_see_hidden(user):
        return None
    return _listed(user).exclude(person=user).count()


def own_request(visitor: Visitor, conversation: Conversation) -> ShownRequest | None:
    """The visitor's request for this conversation that still waits."""
    asked = requests_to_open().filter(conversation=conversation, person=visitor.user).first()
    return _shown(asked, visitor.user) if asked else None


def open_view(visitor: Visitor, conversation: Conversation) -> Open | None:
    """The debug view of a conversation that is open to this person; None where none is."""
    found = access.open_request(visitor, conversation)
    if found is None or found.expires_at is None:
        return None
    left = (found.expires_at - timezone.now()).total_seconds()
    return Open(found.reason, found.expires_at, max(0, int(left)), found.decided_by.get_username() if found.decided_by else "")


def decide(visitor: Visitor, conversation_id: object, request_id: UUID, *, approves: bool) -> None:
    """Approve a request, whose time begins now, or decline it. Once, and recorded.

    Raises:
        RefusedError: without the permission for this conversation, or the request is one's own; recorded as ``E-PERM-VISIBILITY``.
        NotFoundError: no such request waits in this conversation, or who asked may not look any more.
        NotIndependentError: to approve it takes somebody whose account is not in the asker's hands, nor theirs in the approver's. Recorded.
    """
    action = "approve debug view" if approves else "decline debug view"
    conversation = access.debuggable_conversation(visitor, conversation_id, action=action)
    found = requests_to_open().filter(conversation=conversation, pk=request_id)
    if found.filter(person=visitor.user).exists():
        access.refuse(visitor, conversation.pk, action)
    with transaction.atomic():
        # Locked, so that of two people who decide at once only the first does, and a decision cannot be played again.
        asked = found.select_for_update(of=("self",)).first()
        if asked is None or (approves and not access.may_look(asked.person, conversation)):
            raise NotFoundError
        is_tied = approves and four_eyes.are_tied(asked.person, access.person_of(visitor))
        if not is_tied:
            _decide(asked, visitor, approves=approves)
            record(action, visitor, conversation, detail=_about(asked, visitor, approves=approves))
    if is_tied:
        record(action, visitor, conversation, code=ProductCode.FOUR_EYES, detail=f"for {asked.person.get_username()}")
        raise NotIndependentError


def _listed(user: User) -> QuerySet[DebugRequest]:
    asked = requests_to_open()
    return asked if access.can_view_any(user) else asked.filter(Q(conversation__owner=user) | Q(person=user))


def _decide(asked: DebugRequest, visitor: Visitor, *, approves: bool) -> None:
    now = timezone.now()
    asked.decided_by, asked.decided_at = visitor.user, now
    if approves:
        asked.expires_at = now + timedelta(minutes=min(asked.minutes, minutes_to_choose()[-1]))
    else:
        asked.closed_at = now
    asked.save(update_fields=["decided_by", "decided_at", "expires_at", "closed_at"])


def _about(asked: DebugRequest, visitor: Visitor, *, approves: bool) -> str:
    """For whom and why; of an approval also which of the two could make or change accounts. The reason, which may be long, comes last."""
    people = (("who asked", asked.person), ("who approves", access.person_of(visitor)))
    able = [words for words, person in people if approves and four_eyes.rights_over_accounts(person)]
    rights = f" ({' and '.join(able)} may change accounts)" if able else ""
    return f"for {asked.person.get_username()}{rights}: {asked.reason}"


def _shown(asked: DebugRequest, user: User | None) -> ShownRequest:
    people = dict.fromkeys([asked.person, *([user] if user else [])])
    rights = [(person.get_username(), four_eyes.rights_over_accounts(person)) for person in people]
    return ShownRequest(
        id=str(asked.pk),
        conversation_id=str(asked.conversation_id),
        person_name=asked.person.get_username(),
        owner_name=asked.conversation.owner.get_username(),
        reason=asked.reason,
        minutes=asked.minutes,
        asked_at=asked.asked_at,
        is_own=asked.person == user,
        is_tied=user is not None and four_eyes.are_tied(asked.person, user),
        rights=tuple(f"{name} may {', '.join(words)}" for name, words in rights if words),
    )
