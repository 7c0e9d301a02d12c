"""Separates temporary conversations from permanent ones: each kind has actions that are refused for the other."""

from __future__ import annotations

from chatui.models import Conversation, User
from chatui.permissions import access


def own_kept(user: User | None, conversation_id: object) -> Conversation:
    """The person's own conversation that is not temporary: one that can be listed, renamed, moved, shared and exported.

    Raises:
        NotFoundError: for everything else.
    """
    row = access.own_conversation(user, conversation_id)
    if row.temporary_until is not None:
        raise access.NotFoundError
    return row


def own_temporary(user: User | None, conversation_id: object) -> Conversation:
    """The person's own temporary conversation. Raises NotFoundError for everything else."""
    row = access.own_conversation(user, conversation_id)
    if row.temporary_until is None:
        raise access.NotFoundError
    return row
