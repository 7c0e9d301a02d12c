"""Who may read, write and see what: the only module that asks about permissions.

"Not found" and "not yours" look the same. Asking for hidden channels without the permission looks the same whether the conversation
exists or not, and is recorded before it is refused.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NoReturn
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from chatui import audit
from chatui.audit import Visitor
from chatui.models import Conversation, DebugOpening, Message, Turn, User
from renderer.errors import Code

OPENING_LASTS = timedelta(hours=1)


class NotFoundError(Exception):
    """It does not exist, or it is not theirs."""

    code = Code.NOT_FOUND


class RefusedError(Exception):
    """Hidden channels were asked for without the permission; the attempt has been recorded."""

    code = Code.PERM_VISIBILITY


class OptInNeededError(Exception):
    """This person may see the hidden channels, but has not opened the debug view of this conversation, or it has expired."""

    code = Code.OPT_IN


def as_person(user: object) -> User | None:
    """A request's ``user`` as a person of ours; None for nobody."""
    return user if isinstance(user, User) else None


def own_conversation(user: User | None, conversation_id: object, *, deleted: bool = False) -> Conversation:
    """The conversation of that id if it is this person's own. ``deleted`` asks for one in the bin instead.

    Raises:
        NotFoundError: for everything else.
    """
    if user is None or not user.is_active:
        raise NotFoundError
    try:
        return Conversation.objects.get(pk=_key(conversation_id), owner=user, deleted_at__isnull=not deleted)
    except Conversation.DoesNotExist:
        raise NotFoundError from None


def own_conversations(user: User, limit: int) -> list[Conversation]:
    """The person's conversations, the latest first."""
    return list(Conversation.objects.filter(owner=user, deleted_at=None).order_by("-active_at")[:limit])


def message_of(conversation: Conversation, message_id: object) -> Message:
    """A message, looked up through its conversation, so that an id from another conversation is not found."""
    try:
        return Message.objects.get(pk=_key(message_id), conversation=conversation)
    except Message.DoesNotExist:
        raise NotFoundError from None


def turn_of(conversation: Conversation, turn_id: object) -> Turn:
    """A turn, looked up through its conversation."""
    try:
        return Turn.objects.select_related("question").get(pk=_key(turn_id), conversation=conversation)
    except Turn.DoesNotExist:
        raise NotFoundError from None


def can_see_hidden(user: User | None) -> bool:
    """Whether the debug view exists for this person at all. Decides what is offered; what is shown is decided again each time."""
    return user is not None and user.is_active and user.is_staff and user.has_perm("chatui.view_hidden_channels")


def can_view_any(user: User | None) -> bool:
    """Whether this person may open conversations of others (in the debug view)."""
    return user is not None and user.is_active and user.is_staff and user.has_perm("chatui.view_any_conversation")


def debuggable_conversation(visitor: Visitor, conversation_id: object, *, action: str) -> Conversation:
    """A conversation whose hidden channels this visitor may see once they have opted in. Shows nothing yet.

    Raises:
        RefusedError: without the permission; recorded as ``E-PERM-VISIBILITY``.
        NotFoundError: with the permission, but there is no such conversation.
    """
    if not can_see_hidden(visitor.user):
        _refuse(visitor, conversation_id, action)
    try:
        conversation = Conversation.objects.select_related("owner").get(pk=_key(conversation_id), deleted_at=None)
    except (Conversation.DoesNotExist, NotFoundError):
        # Without the right to others' conversations, "no such thing" must look like "not yours".
        if not can_view_any(visitor.user):
            _refuse(visitor, conversation_id, action)
        raise NotFoundError from None
    if conversation.owner != visitor.user and not can_view_any(visitor.user):
        _refuse(visitor, conversation_id, action)
    return conversation


def view_hidden(visitor: Visitor, conversation_id: object, *, action: str) -> Conversation:
    """Grant one look at hidden channels: permission and opt-in are asked, and the look is recorded before anything is shown.

    Raises:
        RefusedError, NotFoundError: as ``debuggable_conversation``.
        OptInNeededError: permitted, but the debug view of this conversation is not open. That is no attempt.
        DatabaseError: the line could not be written, so there is no look.
    """
    conversation = debuggable_conversation(visitor, conversation_id, action=action)
    if not opening(visitor, conversation):
        raise OptInNeededError
    audit.record(action, visitor, conversation=conversation)
    return conversation


def recheck_hidden(visitor: Visitor, conversation_id: UUID) -> None:
    """Whether an open debug stream may go on; raises as ``view_hidden`` where not. A stream that goes on is no new look."""
    if not opening(visitor, debuggable_conversation(visitor, conversation_id, action="debug stream")):
        raise OptInNeededError


def open_debug_view(visitor: Visitor, conversation_id: object, reason: str = "") -> Conversation:
    """The explicit opt-in. Recorded; lasts an hour or until it is closed."""
    conversation = debuggable_conversation(visitor, conversation_id, action="open debug view")
    audit.record("open debug view", visitor, conversation=conversation, detail=reason)
    expires_at = timezone.now() + OPENING_LASTS
    DebugOpening.objects.create(conversation=conversation, person=_person(visitor), reason=reason[:500], expires_at=expires_at)
    return conversation


def close_debug_view(visitor: Visitor, conversation_id: object) -> Conversation:
    """Take the opt-in back."""
    conversation = debuggable_conversation(visitor, conversation_id, action="close debug view")
    _openings(visitor, conversation).update(closed_at=timezone.now())
    return conversation


def opening(visitor: Visitor, conversation: Conversation) -> DebugOpening | None:
    """The visitor's open debug view of this conversation, if there is one."""
    return _openings(visitor, conversation).filter(expires_at__gt=timezone.now()).first()


def _openings(visitor: Visitor, conversation: Conversation) -> QuerySet[DebugOpening]:
    return DebugOpening.objects.filter(conversation=conversation, person=visitor.user, closed_at=None)


def _refuse(visitor: Visitor, conversation_id: object, action: str) -> NoReturn:
    audit.record(action, visitor, code=Code.PERM_VISIBILITY, conversation_id=_as_uuid(conversation_id))
    raise RefusedError


def _person(visitor: Visitor) -> User:
    if visitor.user is None:
        raise NotFoundError
    return visitor.user


def _key(value: object) -> UUID:
    key = _as_uuid(value)
    if key is None:
        raise NotFoundError
    return key


def _as_uuid(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None
