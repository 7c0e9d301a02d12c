"""Separates temporary and permanent conversations, because each kind has actions that the other must refuse."""

from __future__ import annotations

from chatui.models import Conversation, User
from chatui.permissions import access


def own_permanent(user: User | None, conversation_id: object) -> Conversation:
    """The person's own permanent conversation, which can be listed, renamed, moved, shared and exported.

    Raises:
        NotFoundError: there is none with that id.
    """
    row = access.own_conversation(user, conversation_id)
    if row.temporary_until is not None:
        raise access.NotFoundError
    return row


def own_temporary(user: User | None, conversation_id: object) -> Conversation:
    """The person's own temporary conversation. Raises NotFoundError if there is none with that id."""
    row = access.own_conversation(user, conversation_id)
    if row.temporary_until is None:
        raise access.NotFoundError
    return row
