"""Decides which programs may read raw reasoning, and records it.

A key can be given that only by an owner who may see hidden channels themselves, and reads nothing once they may not any more. There is no
opt-in for each conversation, as a program cannot give one: where the operator wants a second person to approve each, no key reads anything.
"""

from __future__ import annotations

from uuid import UUID

from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.models import Conversation, User
from chatui.permissions import access, attempts

READ, ASKED = "raw reasoning to program", "asked for raw reasoning"


def may_read(person: User) -> bool:
    """Whether this person's keys may read raw reasoning, where they were given that. A key only ever sees its owner's conversations."""
    return access.can_see_hidden(person) and not environment().debug_approval


def record_look(visitor: Visitor, conversation_id: UUID, prefix: str) -> None:
    """Record one request that raw reasoning answers, by the key with that beginning, of a conversation of its owner's. Raises a
    database error if that fails."""
    record(READ, visitor, Conversation(pk=conversation_id, owner=visitor.user), detail=prefix)


def record_attempt(visitor: Visitor) -> None:
    """Record that a program asked for raw reasoning that it gets none of. Raises a database error if that fails."""
    attempts.record_attempt(visitor, None, ASKED)
