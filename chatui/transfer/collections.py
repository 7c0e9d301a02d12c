"""Documents into collections, and a person's own collections out for their archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from chatui.audit_log.record import Visitor
from chatui.database.connections import short_transaction
from chatui.display import collections as display
from chatui.models.collections import Collection
from chatui.models.files import StoredFile
from chatui.models.user import User
from chatui.permissions import collections as permissions
from chatui.permissions.access import key_in, person_of
from chatui.store import collections as store
from chatui.store import file_names, files, passages
from chatui.store.collections import MAX_DOCUMENTS as MAX_DOCUMENTS
from chatui.store.collections import CollectionFullError
from chatui.transfer import files as transfer_files
from chatui.transfer.files import FileDestination, UploadRefusedError


@dataclass(frozen=True, slots=True)
class FileUpload:
    """A file that somebody uploads. ``name``: as their browser sent it."""

    name: str = field(repr=False)
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class RefusedDocument:
    """A file that became no document. ``why``: as of ``UploadRefusedError``; ``full``: the collection has MAX_DOCUMENTS."""

    name: str = field(repr=False)
    why: str
    places: int = 0


def add(visitor: Visitor, collection_id: object, uploads: Sequence[FileUpload], replaces: object = None) -> list[RefusedDocument]:
    """Make these files documents of the visitor's own collection, each by itself; returns those that were refused. ``replaces``: the
    document whose place the first takes; any takes that of a document with its name. Blocks while they are read.

    Raises NotFoundError if the visitor has no such collection, or has it no more; what was added before stays in it.
    """
    person = person_of(visitor)
    row = permissions.own(person, collection_id)
    refused: list[RefusedDocument] = []
    for number, upload in enumerate(uploads):
        try:
            _add(person, row, upload, key_in(replaces) if not number else None)
        except UploadRefusedError as error:
            refused.append(RefusedDocument(file_names.clean(upload.name), error.why, error.reading.places if error.reading else 0))
        except CollectionFullError:
            refused.append(RefusedDocument(file_names.clean(upload.name), "full"))
    if len(refused) < len(uploads):
        display.note_added(visitor, row)
    return refused


def _add(person: User, row: Collection, upload: FileUpload, replaces: UUID | None) -> None:
    # While it is read, it waits as an upload for a message box that no page has; if this process dies, it is swept as one.
    file = transfer_files.accept(FileDestination(person.pk, None, brought_in=row.pk), upload.name, lambda: upload.data)
    try:
        passages.index(file.content_id)
        with short_transaction():
            # Reading took a while: meanwhile it may have been deleted, with its folder, or have become an heir's.
            store.put(permissions.own(person, row.pk, locked=True), file, replaces)
    finally:
        transfer_files.remove(file)  # unless it has become a document


def for_archive(person: User) -> tuple[list[Mapping[str, object]], Iterator[tuple[str, bytes]]]:
    """The person's own collections, and the path and bytes of each document in them, one at a time."""
    rows = list(permissions.own_all(person).select_related("folder").order_by("created_at", "pk"))
    folders = {row.pk: f"collections/{number}" for number, row in enumerate(rows, 1)}
    return [_described(row, folders[row.pk]) for row in rows], _documents(rows, folders)


def _described(row: Collection, directory: str) -> Mapping[str, object]:
    return {
        "name": row.folder.name if row.folder else row.name,
        "description": row.description,
        "is_of_folder": row.folder_id is not None,
        "groups": sorted(row.groups.values_list("name", flat=True)),
        "created_at": row.created_at,
        "directory": directory,
    }


def _documents(rows: Sequence[Collection], directories: Mapping[UUID, str]) -> Iterator[tuple[str, bytes]]:
    for row in rows:
        for file in StoredFile.objects.filter(collection=row, replaced_at=None).select_related("content").order_by("name"):
            yield f"{directories[row.pk]}/{file.name}", files.data_of(file)
