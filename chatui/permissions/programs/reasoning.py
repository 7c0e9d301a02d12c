"""Decides which programs may read raw reasoning, and records each reading.

A key can have this permission only while its owner may see hidden channels. A program does not open a debug view for each conversation. If
the operator requires a second person to approve each view, no key may read any reasoning.
"""

from __future__ import annotations

from uuid import UUID

from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.models import Conversation, User
from chatui.permissions import access, attempts

READ, ASKED = "raw reasoning to program", "asked for raw reasoning"


def may_read(person: User) -> bool:
    """Whether this person's keys may read raw reasoning, if the keys have that permission.

    A key only ever sees its owner's conversations.
    """
    return access.can_see_hidden(person) and not environment().debug_approval


def record_reading(visitor: Visitor, conversation_id: UUID, prefix: str) -> None:
    """Record a response with raw reasoning to the key with that prefix, in its owner's conversation.

    Raises a database error if that fails.
    """
    record(READ, visitor, Conversation(pk=conversation_id, owner=visitor.user), detail=prefix)


def record_attempt(visitor: Visitor) -> None:
    """Record that a program requested raw reasoning and was refused. Raises a database error if that fails."""
    attempts.record_attempt(visitor, None, ASKED)
