"""The base query of every list of conversations, so that no list, search or export includes temporary ones."""

from __future__ import annotations

from django.db.models import QuerySet

from chatui.models import Conversation, User


def listed(owner: User) -> QuerySet[Conversation]:
    """This person's conversations except temporary ones, wherever they are: in the list, a folder, the archive or the bin."""
    return Conversation.objects.filter(owner=owner, temporary_until=None)


def is_listed(row: Conversation) -> bool:
    """Whether a conversation is one of those, and not in the bin."""
    return row.deleted_at is None and row.temporary_until is None
