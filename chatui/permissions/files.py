"""Decides which files a person may open or send again: their own, documents of collections, and in an open debug view those of the
conversation."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from uuid import UUID

from django.db.models import Q, QuerySet

from chatui.audit_log.record import Visitor
from chatui.models.conversation import Conversation
from chatui.models.files import FileSource, StoredFile
from chatui.models.user import User
from chatui.permissions import access, collections
from chatui.permissions.access import NotFoundError, existing
from chatui.store import passages
from renderer.markup.citations import CitableSource


def own_file(user: User | None, file_id: UUID) -> StoredFile:
    """The person's own file, with its content. Raises NotFoundError if the file does not exist, is in the bin, or is somebody else's: all
    look the same."""
    if user is None or not user.is_active:
        raise NotFoundError
    # The conversation is checked as well: nobody may read unfinished imports, or conversations that are being erased. A file that was not
    # sent yet is in no conversation.
    waits = Q(conversation=None, collection=None, source=FileSource.PERSON)
    in_conversation = Q(
        conversation__owner=user, conversation__deleted_at=None, conversation__unfinished_until=None, conversation__isnull=False
    )
    return existing(StoredFile.objects.filter(waits | in_conversation, owner=user, pk=file_id).select_related("content").first())


def readable_file(user: User | None, file_id: UUID) -> StoredFile:
    """As ``own_file``, or a document of a collection that the person may ask now, also a version that was replaced."""
    with contextlib.suppress(NotFoundError):
        return own_file(user, file_id)
    if user is None or not user.is_active:
        raise NotFoundError
    return existing(collections.documents(user).filter(pk=file_id).select_related("content").first())


def titled(conversation: Conversation, pages: Mapping[int, CitableSource]) -> Mapping[int, CitableSource]:
    """The pages of a conversation, for its owner, with titles for documents that were stored without, because somebody else may decide who
    knows their names: those that the owner may open now. The others stay untitled, and citations of them lead nowhere. No statement for
    none."""
    untitled = {cursor: place for cursor, page in pages.items() if not page.title and (place := passages.place_of(page.url))}
    if not untitled:
        return pages
    person = conversation.owner
    mine = Q(owner=person, conversation=conversation)
    rows = StoredFile.objects.filter(mine | Q(collection__in=collections.readable(person)), pk__in={file for file, _ in untitled.values()})
    known = {key: (content, name) for key, content, name in rows.values_list("pk", "content", "name")}
    labels = passages.labels((known[file][0], number) for file, number in untitled.values() if file in known)
    found = dict(pages)
    for cursor, (file, number) in untitled.items():
        if file in known:
            content, name = known[file]
            found[cursor] = CitableSource(pages[cursor].url, passages.title(name, labels.get((content, number), "")))
    return found


def own_documents(user: User) -> QuerySet[StoredFile]:
    """The files that this person may send again, unordered: those that they sent in conversations that are neither temporary nor binned."""
    conversations = access.listed(user).filter(deleted_at=None, unfinished_until=None)
    return StoredFile.objects.filter(owner=user, source=FileSource.PERSON, conversation__in=conversations)


def hidden_file(visitor: Visitor, conversation_id: UUID, file_id: UUID, *, action: str) -> StoredFile:
    """A file of a conversation, for a visitor with an open debug view; the access is recorded first. Raises as ``access.view_hidden``."""
    row = access.view_hidden(visitor, conversation_id, action=action)
    return existing(StoredFile.objects.filter(conversation=row, pk=file_id).select_related("content").first())
