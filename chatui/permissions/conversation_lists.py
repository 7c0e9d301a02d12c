"""The base query for lists of conversations, so that no list, search or export includes temporary conversations."""

from __future__ import annotations

from django.db.models import QuerySet

from chatui.models import Conversation, User


def listed(owner: User) -> QuerySet[Conversation]:
    """The person's conversations except temporary ones, including those in folders, the archive and the bin."""
    return Conversation.objects.filter(owner=owner, temporary_until=None)


def is_listed(row: Conversation) -> bool:
    """Whether a conversation is neither temporary nor in the bin."""
    return row.deleted_at is None and row.temporary_until is None
