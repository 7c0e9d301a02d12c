"""Decides which files a person may open or send again: their own, and in an open debug view those of the conversation."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q, QuerySet

from chatui.audit_log.record import Visitor
from chatui.models.files import FileSource, StoredFile
from chatui.models.user import User
from chatui.permissions import access
from chatui.permissions.access import NotFoundError, existing


def own_file(user: User | None, file_id: UUID) -> StoredFile:
    """The person's own file, with its content. Raises NotFoundError if the file does not exist, is in the bin, or is somebody else's: all
    look the same."""
    if user is None or not user.is_active:
        raise NotFoundError
    # The conversation is checked as well: nobody may read unfinished imports, or conversations that are being erased. A file that was not
    # sent yet is in no conversation.
    waits = Q(conversation=None, source=FileSource.PERSON)
    in_conversation = Q(
        conversation__owner=user, conversation__deleted_at=None, conversation__unfinished_until=None, conversation__isnull=False
    )
    return existing(StoredFile.objects.filter(waits | in_conversation, owner=user, pk=file_id).select_related("content").first())


def own_documents(user: User) -> QuerySet[StoredFile]:
    """The files that this person may send again, unordered: those that they sent in conversations that are neither temporary nor binned."""
    conversations = access.listed(user).filter(deleted_at=None, unfinished_until=None)
    return StoredFile.objects.filter(owner=user, source=FileSource.PERSON, conversation__in=conversations)


def hidden_file(visitor: Visitor, conversation_id: UUID, file_id: UUID, *, action: str) -> StoredFile:
    """A file of a conversation, for a visitor with an open debug view; the access is recorded first. Raises as ``access.view_hidden``."""
    row = access.view_hidden(visitor, conversation_id, action=action)
    return existing(StoredFile.objects.filter(conversation=row, pk=file_id).select_related("content").first())
