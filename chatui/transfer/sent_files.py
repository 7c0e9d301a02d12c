"""Finds files that a person has sent before, so that they can send them again without a new upload."""

from __future__ import annotations

from uuid import UUID

from chatui.documents.reading import State
from chatui.models import StoredFile, User
from chatui.models.files.stored_file import FileSource
from chatui.permissions import files
from chatui.permissions.access import NotFoundError
from chatui.store import transcripts
from chatui.store.documents import pending_uploads
from chatui.store.files import storage
from chatui.store.short_transactions import short_transaction

MAX_RESULTS = 50
"""The most results of one search. Older files can be found by name."""
_MAX_ROWS = 500
"""The most rows to read: a file may have been sent many times."""
_MAX_WORDS = 8


def search(person: User, words: str) -> tuple[list[StoredFile], bool]:
    """The files whose names contain all of these words, newest first, with their contents; and whether there are more.

    Each pair of name and content occurs once.
    """
    rows = files.own_documents(person).filter(content__document__state=State.READ)
    for word in transcripts.storable(words).split()[:_MAX_WORDS]:
        rows = rows.filter(name__icontains=word)
    newest: dict[tuple[int, str], StoredFile] = {}
    read = list(rows.select_related("content").order_by("-created_at", "pk")[:_MAX_ROWS])
    for row in read:
        newest.setdefault((row.content_id, row.name), row)
    return list(newest.values())[:MAX_RESULTS], len(newest) > MAX_RESULTS or len(read) == _MAX_ROWS


def attach_again(person: User, file_id: UUID, brought_in: UUID | None) -> StoredFile:
    """Attach a file that was sent before to a message box, with its content and extracted text, unless it already waits there.

    Raises:
        NotFoundError: ``search`` would not return it.
    """
    with short_transaction():
        storage.lock_owner(person.pk)
        known = files.own_documents(person).filter(content__document__state=State.READ, pk=file_id).select_related("content").first()
        if known is None:
            raise NotFoundError
        same = pending_uploads.rows_at(person.pk, brought_in).filter(content=known.content, name=known.name).first()
        file = same or StoredFile.objects.create(
            owner=person, content=known.content, name=known.name, source=FileSource.PERSON, brought_in=brought_in
        )
    pending_uploads.trim(person.pk)
    return file
