"""The rows of collections: putting documents into one, removing them, and erasing what was deleted or replaced before a time.

An uploaded file becomes a document once it was read and its passages are indexed, so that a search finds all of a document or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from chatui.database.faults import Refused
from chatui.models.collections import Collection
from chatui.models.files import StoredFile
from chatui.store import files

MAX_DOCUMENTS = 200
"""The most documents of one collection. Each word of a search is looked up in each of them."""


class CollectionFullError(Exception):
    """The collection has MAX_DOCUMENTS documents."""


def put(collection: Collection, file: StoredFile, replaces: UUID | None = None) -> None:
    """Make an uploaded file a document, in the caller's transaction, which has locked the collection. It takes the place of the document
    ``replaces``, and of one with the same name; these, with their earlier versions, are earlier versions of it from now on, and have its
    name. The same bytes under the same name change nothing. Raises CollectionFullError."""
    rows = StoredFile.objects.filter(collection=collection)
    before = rows.filter(Q(name=file.name) | Q(pk=replaces), replaced_at=None)
    names = dict(before.values_list("name", "content"))
    if names == {file.name: file.content_id}:
        return
    if not names and rows.filter(replaced_at=None).count() >= MAX_DOCUMENTS:
        raise CollectionFullError
    before.update(replaced_at=timezone.now())
    rows.filter(name__in=names).update(name=file.name)
    StoredFile.objects.filter(pk=file.pk).update(collection=collection, brought_in=None, created_at=timezone.now())


def remove(document: StoredFile) -> None:
    """Delete a document for good, with its earlier versions. Citations of them lead nowhere."""
    rows = StoredFile.objects.filter(collection=document.collection_id, name=document.name)
    _delete(rows.values_list("pk", "owner"))


def empty(collection: Collection) -> None:
    """Delete all documents of a collection for good."""
    _delete(StoredFile.objects.filter(collection=collection).values_list("pk", "owner"))


def forget_versions(collection: Collection) -> None:
    """Delete the versions that were replaced."""
    _delete(StoredFile.objects.filter(collection=collection, replaced_at__isnull=False).values_list("pk", "owner"))


def erase_expired(before: datetime, refused: Refused) -> None:
    """Erase the collections that were deleted before that time, with their documents, and the versions that were replaced before it. One
    that cannot be erased does not stop the others."""
    expired = Collection.objects.filter(deleted_at__lt=before)
    for collection in expired:
        with refused.one(f"collection {collection.pk}"):
            empty(collection)
            expired.filter(pk=collection.pk).delete()
    for key, owner in list(StoredFile.objects.filter(collection__isnull=False, replaced_at__lt=before).values_list("pk", "owner")):
        with refused.one(f"file {key}"):
            _delete([(key, owner)])


def _delete(rows: Iterable[tuple[UUID, UUID]]) -> None:
    # Each by itself, because it may be large. What cites one has its key, and nothing of its name or text.
    for key, owner in list(rows):
        files.delete_files(owner, StoredFile.objects.filter(pk=key))
