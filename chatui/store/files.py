"""Stores and reads files, each content once for a person and within their quota, and deletes those that are no longer needed."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.utils import timezone

from chatui.database.connections import short_transaction
from chatui.env import environment
from chatui.models.files import DocumentPart, DocumentPassage, DocumentText, FileContent, FilePiece, FileSource, StoredFile
from chatui.models.user import User
from chatui.store import file_encryption, file_names
from chatui.store.file_names import MediaKind

PIECE_BYTES = 256 * 1024
MEBIBYTE = 1024 * 1024
_BATCH_PIECES = 8
"""Pieces in one statement."""
_MAX_DELETED = 100
DELETED_BYTES = 8 * MEBIBYTE
"""Bytes in one transaction, of several contents."""


class FileRefusedError(Exception):
    """A file is not stored.

    The text gives the reason, in English for a model, without the file's content; ``why`` is a code for the reason.
    """

    def __init__(self, text: str, why: str) -> None:
        super().__init__(text)
        self.why = why


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to store. Create it with ``of``."""

    name: str = field(repr=False)
    """Cleaned."""
    data: bytes = field(repr=False)
    """At most ``CHATUI_FILE_MB``."""
    sha256: str = field(repr=False)
    kind: MediaKind

    @classmethod
    def of(cls, name: str, data: bytes, read_as: str = "") -> NewFile:
        """``name``: as given, not cleaned.

        ``read_as``: the type that its text is extracted as, if that does not follow from the bytes; the same bytes read differently are
        another content. All slow work for a large file happens here, before a transaction.
        """
        digest = hashlib.sha256(f"{read_as}\0".encode() if read_as else b"")
        digest.update(data)
        return cls(file_names.clean(name), data, digest.hexdigest(), file_names.kind_of(data))


@dataclass(frozen=True, slots=True)
class FileDestination:
    """Where a file belongs."""

    owner_id: UUID
    conversation_id: UUID | None
    """None: it waits at the message box of ``brought_in`` until its owner sends it."""
    turn_id: UUID | None = None
    """The turn whose tool made it; None for an upload."""
    brought_in: UUID | None = None
    tool_server: str = ""
    """The one from which an upload was attached."""


def save(place: FileDestination, new: NewFile) -> StoredFile:
    """Store a file, in the caller's transaction. In one turn, the last file of a name replaces earlier ones. Idempotent. Raises
    FileRefusedError if it is too large, the turn has too many, or the person has too much."""
    if len(new.data) > environment().file_mb * MEBIBYTE:
        raise FileRefusedError(f"it is larger than {environment().file_mb} MB", "too-long")
    lock_owner(place.owner_id)
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
        tool_server=place.tool_server,
    )


def _replaced(before: StoredFile, content: FileContent) -> StoredFile:
    """Replace a file's content: its address then serves the new content."""
    if before.content_id != content.pk:
        replaced, before.content, before.created_at = before.content_id, content, timezone.now()
        before.save(update_fields=["content", "created_at"])
        _delete(list(_unused(before.owner_id).filter(pk=replaced).values_list("pk", flat=True)))
    return before


def delete_files(owner_id: UUID, files: QuerySet[StoredFile]) -> None:
    """Delete files of a person, and contents that no other file uses, in short transactions. An interrupted call can be repeated."""
    with short_transaction():
        files.delete()
    while _delete_unused(owner_id):
        pass


def lock_owner(owner_id: UUID) -> None:
    """Lock the person: otherwise two requests could both fit into the quota, or a content could be deleted while a new file uses it."""
    User.objects.select_for_update(no_key=True).filter(pk=owner_id).values_list("pk").first()


def bytes_of(owner_id: UUID) -> int:
    """How many bytes a person's files use, each content counted once, with its extracted text."""
    found = FileContent.objects.filter(owner=owner_id).aggregate(files=Sum("size"), texts=Sum("document__bytes"))
    return (found["files"] or 0) + (found["texts"] or 0)


def check_room(owner_id: UUID, more: int) -> None:
    """Check that ``more`` bytes fit into a person's quota, in the caller's transaction, which has locked the person. Raises
    FileRefusedError if they do not."""
    most = environment().files_of_person_mb
    if bytes_of(owner_id) + more > most * MEBIBYTE:
        raise FileRefusedError(f"the person's files already take the {most} MB that they may", "quota")


def _check_number(place: FileDestination) -> None:
    most = environment().files_of_answer
    if place.turn_id is not None and StoredFile.objects.filter(turn=place.turn_id).count() >= most:
        raise FileRefusedError(f"one answer brings at most {most} files", "number")


def _freed_by(before: StoredFile | None) -> int:
    """How many bytes are freed when this file gets another content: none if another file uses the old one."""
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
        is_encrypted=file_encryption.is_on(),
    )
    parts = (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))
    stored = (file_encryption.encrypted(content, number, part) if content.is_encrypted else part for number, part in enumerate(parts))
    pieces = (FilePiece(content=content, number=number, data=part) for number, part in enumerate(stored))
    while batch := list(islice(pieces, _BATCH_PIECES)):
        FilePiece.objects.bulk_create(batch)
    return content


def _unused(owner_id: UUID) -> QuerySet[FileContent]:
    return FileContent.objects.filter(~Exists(StoredFile.objects.filter(content=OuterRef("pk"))), owner=owner_id)


def _delete_unused(owner_id: UUID) -> bool:
    """Delete unused contents, as many as fit into a short transaction. Returns whether there were any."""
    with short_transaction():
        lock_owner(owner_id)
        found = list(_unused(owner_id).order_by("pk").values_list("pk", "size")[:_MAX_DELETED])
        ends = accumulate(size for _, size in found)
        return _delete([key for at, ((key, _), end) in enumerate(zip(found, ends, strict=True)) if at == 0 or end <= DELETED_BYTES])


def _delete(keys: Sequence[int]) -> bool:
    delete_texts(keys)
    delete_rows(FilePiece.objects.filter(content__in=keys))
    delete_rows(FileContent.objects.filter(pk__in=keys))
    return bool(keys)


def delete_texts(contents: Sequence[int]) -> None:
    """Delete the extracted text of these contents."""
    for model in (DocumentPassage, DocumentPart, DocumentText):
        delete_rows(model.objects.filter(content__in=contents))


def delete_rows(rows: QuerySet[Any]) -> int:
    """Delete rows in one statement, without loading them or checking for references: the database refuses if there are any."""
    return rows._raw_delete(rows.db)


def of_turns(turn_ids: Collection[UUID]) -> Mapping[UUID, tuple[StoredFile, ...]]:
    """The files of each turn, with their contents, in order of creation. One statement; none for no turns."""
    return _by_turn(StoredFile.objects.filter(turn__in=turn_ids)) if turn_ids else {}


def of_question(question_id: UUID) -> Mapping[UUID, tuple[StoredFile, ...]]:
    """The files of each turn that answers this question. One statement."""
    return _by_turn(StoredFile.objects.filter(turn__question=question_id))


def _by_turn(rows: QuerySet[StoredFile]) -> Mapping[UUID, tuple[StoredFile, ...]]:
    found: dict[UUID, list[StoredFile]] = defaultdict(list)
    for row in rows.select_related("content").order_by("created_at", "name"):
        if row.turn_id is not None:
            found[row.turn_id].append(row)
    return {turn: tuple(files) for turn, files in found.items()}


def of_conversation(conversation_id: UUID, without: Collection[UUID] = ()) -> list[StoredFile]:
    """The files of a conversation, with their contents: the newest of each name, the newest first. ``without``: files to ignore."""
    rows = StoredFile.objects.filter(conversation=conversation_id).select_related("content").order_by("-created_at", "-pk")
    newest: dict[str, StoredFile] = {}
    for row in rows:
        if row.pk in without:
            continue
        newest.setdefault(row.name, row)
    return list(newest.values())


def pieces(file: StoredFile) -> Iterator[bytes]:
    """The bytes of a file, with one piece in memory at a time and no database cursor left open between pieces.

    Raises NoKeyError if no key in the settings decrypts them.
    """
    number = 0
    while (data := FilePiece.objects.filter(content=file.content_id, number=number).values_list("data", flat=True).first()) is not None:
        yield _plain(file.content, number, data)
        number += 1


def data_of(file: StoredFile) -> bytes:
    """All bytes of a file: at most the ``CHATUI_FILE_MB`` in force when it was stored. One statement. Raises as ``pieces``."""
    stored = FilePiece.objects.filter(content=file.content_id).order_by("number").values_list("data", flat=True)
    return b"".join(_plain(file.content, number, data) for number, data in enumerate(stored))


def _plain(content: FileContent, number: int, stored: bytes | memoryview) -> bytes:
    return file_encryption.decrypted(content, number, bytes(stored)) if content.is_encrypted else bytes(stored)
