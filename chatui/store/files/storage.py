"""Stores files, each content once for a person and within their quota, and deletes files that are no longer needed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.utils import timezone

from chatui.env import environment
from chatui.models import DocumentPart, DocumentPassage, DocumentText, FileContent, FilePiece, StoredFile, User
from chatui.models.files.stored_file import FileSource
from chatui.store.files import encryption, media_types, names
from chatui.store.files.media_types import Kind
from chatui.store.short_transactions import short_transaction

PIECE_BYTES = 256 * 1024
MEBIBYTE = 1024 * 1024
_BATCH_PIECES = 8
"""In one statement."""
_MOST_DELETED = 100
_DELETED_BYTES = 8 * MEBIBYTE
"""In one transaction, of several contents."""


class FileRefusedError(Exception):
    """A file is not stored. The text gives the reason, in English for a model, without the file's content; ``why`` is the reason as a
    code."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(text)
        self.why = why


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to store. ``name``: a clean one. ``data``: of at most ``CHATUI_FILE_MB``. ``of`` makes one."""

    name: str = field(repr=False)
    data: bytes = field(repr=False)
    sha256: str = field(repr=False)
    kind: Kind

    @classmethod
    def of(cls, name: str, data: bytes, read_as: str = "") -> NewFile:
        """``name``: anything that somebody calls it. ``read_as``: as what its text is read, where that is not the bytes as they stand:
        what is read as something else is another content. All that takes long for a large file is done here, before a transaction."""
        digest = hashlib.sha256(f"{read_as}\0".encode() if read_as else b"")
        digest.update(data)
        return cls(names.clean(name), data, digest.hexdigest(), media_types.kind_of(data))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file goes. ``turn_id``: the one whose tool made it; None for a file that the owner brought. ``conversation_id`` None: it
    waits until its owner sends it, at the message box of ``brought_in``."""

    owner_id: UUID
    conversation_id: UUID | None
    turn_id: UUID | None = None
    brought_in: UUID | None = None


def keep(place: Place, new: NewFile) -> StoredFile:
    """Keep a file, in the caller's transaction. In one turn, the last of a name counts. May be done twice.

    Raises:
        FileRefusedError: it is too large, the turn has too many, or the person has too much.
    """
    _check_size(new)
    hold(place.owner_id)
    before = StoredFile.objects.filter(turn=place.turn_id, name=new.name).first() if place.turn_id else None
    if before is None:
        _check_number(place)
    content = _content(place.owner_id, new, _freed_by(before))
    if before is not None:
        return _replaced(before, content)
    return StoredFile.objects.create(
        owner_id=place.owner_id,
        conversation_id=place.conversation_id,
        turn_id=place.turn_id,
        content=content,
        name=new.name,
        source=FileSource.TOOL if place.turn_id else FileSource.PERSON,
        brought_in=place.brought_in,
    )


def _replaced(before: StoredFile, content: FileContent) -> StoredFile:
    """The same file with another content: whoever has its address on a page gets what it is now."""
    if before.content_id != content.pk:
        replaced, before.content, before.created_at = before.content_id, content, timezone.now()
        before.save(update_fields=["content", "created_at"])
        _delete(list(_unused(before.owner_id).filter(pk=replaced).values_list("pk", flat=True)))
    return before


def delete_of_conversation(owner_id: UUID, conversation_id: UUID) -> None:
    """Delete the files of a conversation that is being erased, in short transactions. What was cut off can be done again."""
    delete_files(owner_id, StoredFile.objects.filter(conversation=conversation_id))


def delete_files(owner_id: UUID, files: QuerySet[StoredFile]) -> None:
    """Delete files of a person, and what was in them where no other file has it, in short transactions."""
    with short_transaction():
        files.delete()
    while _delete_unused(owner_id):
        pass


def hold(owner_id: UUID) -> None:
    """One at a time for each person: or two that count at once would both still fit, and a content could go while a file takes it."""
    User.objects.select_for_update(no_key=True).filter(pk=owner_id).values_list("pk").first()


def bytes_of(owner_id: UUID) -> int:
    """How much a person has, each content counted once, with what was read of it."""
    found = FileContent.objects.filter(owner=owner_id).aggregate(files=Sum("size"), texts=Sum("document__bytes"))
    return (found["files"] or 0) + (found["texts"] or 0)


def check_room(owner_id: UUID, more: int) -> None:
    """Whether so many bytes more fit into what a person may have, in the caller's transaction, which holds them.

    Raises:
        FileRefusedError: they do not.
    """
    most = environment().files_of_person_mb
    if bytes_of(owner_id) + more > most * MEBIBYTE:
        raise FileRefusedError(f"the person's files already take the {most} MB that they may", "quota")


def _check_size(new: NewFile) -> None:
    if len(new.data) > environment().file_mb * MEBIBYTE:
        raise FileRefusedError(f"it is larger than {environment().file_mb} MB", "too-long")


def _check_number(place: Place) -> None:
    most = environment().files_of_answer
    if place.turn_id is not None and StoredFile.objects.filter(turn=place.turn_id).count() >= most:
        raise FileRefusedError(f"one answer brings at most {most} files", "number")


def _freed_by(before: StoredFile | None) -> int:
    """How much goes when this file has another content: nothing where another file has the same."""
    if before is None or StoredFile.objects.filter(content=before.content_id).exclude(pk=before.pk).exists():
        return 0
    return before.content.size


def _content(owner_id: UUID, new: NewFile, freed: int) -> FileContent:
    data, kind = new.data, new.kind
    if (found := FileContent.objects.filter(owner=owner_id, sha256=new.sha256).first()) is not None:
        return found
    check_room(owner_id, len(data) - freed)
    content = FileContent.objects.create(
        owner_id=owner_id,
        sha256=new.sha256,
        size=len(data),
        media_type=kind.media_type,
        width=kind.width,
        height=kind.height,
        is_encrypted=encryption.is_on(),
    )
    parts = (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))
    pieces = (FilePiece(content=content, number=number, data=_kept(content, number, part)) for number, part in enumerate(parts))
    while batch := list(islice(pieces, _BATCH_PIECES)):
        FilePiece.objects.bulk_create(batch)
    return content


def _kept(content: FileContent, number: int, part: bytes) -> bytes:
    return encryption.encrypted(content, number, part) if content.is_encrypted else part


def _unused(owner_id: UUID) -> QuerySet[FileContent]:
    return FileContent.objects.filter(~Exists(StoredFile.objects.filter(content=OuterRef("pk"))), owner=owner_id)


def _delete_unused(owner_id: UUID) -> bool:
    """Delete contents that no file has any more, as many as make a short transaction. Returns whether there were any."""
    with short_transaction():
        hold(owner_id)
        found = list(_unused(owner_id).order_by("pk").values_list("pk", "size")[:_MOST_DELETED])
        ends = accumulate(size for _, size in found)
        return _delete([key for at, ((key, _), end) in enumerate(zip(found, ends, strict=True)) if at == 0 or end <= _DELETED_BYTES])


def _delete(keys: Sequence[int]) -> bool:
    # Django's own deletion would read the pieces first.
    for rows in (
        FilePiece.objects.filter(content__in=keys),
        DocumentPassage.objects.filter(content__in=keys),
        DocumentPart.objects.filter(content__in=keys),
        DocumentText.objects.filter(content__in=keys),
        FileContent.objects.filter(pk__in=keys),
    ):
        rows._raw_delete(rows.db)
    return bool(keys)
