"""Decides which files a person may open or send again: their own, and in the debug view those of others."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q, QuerySet

from chatui.audit_log.record import Visitor
from chatui.models import StoredFile, User
from chatui.models.files.stored_file import FileSource
from chatui.permissions import access, conversation_lists
from chatui.permissions.access import NotFoundError


def own_file(user: User | None, file_id: UUID) -> StoredFile:
    """The file with its content. Somebody else's file, one in the bin, and one that does not exist all look the same.

    Raises:
        NotFoundError: see above.
    """
    if user is None or not user.is_active:
        raise NotFoundError
    # The conversation's owner is checked as well: unfinished imports and conversations that are being erased have no readers. A file that
    # was not sent yet is in no conversation.
    waits = Q(conversation=None, source=FileSource.PERSON)
    kept = Q(conversation__owner=user, conversation__deleted_at=None, conversation__unfinished_until=None, conversation__isnull=False)
    return _first(StoredFile.objects.filter(waits | kept, owner=user, pk=file_id).select_related("content").first())


def own_documents(user: User) -> QuerySet[StoredFile]:
    """The files that this person may send again, unordered: those they have sent in conversations that are neither temporary nor in the
    bin.
    """
    conversations = conversation_lists.listed(user).filter(deleted_at=None, unfinished_until=None)
    return StoredFile.objects.filter(owner=user, source=FileSource.PERSON, conversation__in=conversations)


def hidden_file(visitor: Visitor, conversation_id: UUID, file_id: UUID, *, action: str) -> StoredFile:
    """A file of a conversation whose debug view is open to this visitor; the access is recorded first. Raises as ``access.view_hidden``."""
    row = access.view_hidden(visitor, conversation_id, action=action)
    return _first(StoredFile.objects.filter(conversation=row, pk=file_id).select_related("content").first())


def _first(found: StoredFile | None) -> StoredFile:
    if found is None:
        raise NotFoundError
    return found
