"""Reads stored files: which there are, and their bytes, piece by piece."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

from django.db.models import QuerySet

from chatui.models import FilePiece, StoredFile
from chatui.store.files import encryption


def of_turns(turn_ids: Collection[UUID]) -> Mapping[UUID, tuple[StoredFile, ...]]:
    """By turn, the files that it made, with their contents, in the order in which they came. One statement; none for no turns."""
    return _by_turn(StoredFile.objects.filter(turn__in=turn_ids)) if turn_ids else {}


def of_question(question_id: UUID) -> Mapping[UUID, tuple[StoredFile, ...]]:
    """The same for all answers to a question. One statement."""
    return _by_turn(StoredFile.objects.filter(turn__question=question_id))


def _by_turn(rows: QuerySet[StoredFile]) -> Mapping[UUID, tuple[StoredFile, ...]]:
    found: dict[UUID, list[StoredFile]] = defaultdict(list)
    for row in rows.select_related("content").order_by("created_at", "name"):
        if row.turn_id is not None:
            found[row.turn_id].append(row)
    return {turn: tuple(files) for turn, files in found.items()}


def of_conversation(conversation_id: UUID) -> list[StoredFile]:
    """The files of a conversation, with their contents: of each name the newest one, the newest first."""
    rows = StoredFile.objects.filter(conversation=conversation_id).select_related("content").order_by("-created_at", "-pk")
    newest: dict[str, StoredFile] = {}
    for row in rows:
        newest.setdefault(row.name, row)
    return list(newest.values())


def pieces(file: StoredFile) -> Iterator[bytes]:
    """Its bytes, one piece in memory at a time and no cursor left open between two. Raises NoKeyError where they are encrypted, and not
    with a key of the settings."""
    number = 0
    while (data := FilePiece.objects.filter(content=file.content_id, number=number).values_list("data", flat=True).first()) is not None:
        yield encryption.decrypted(file.content, number, bytes(data)) if file.content.is_encrypted else bytes(data)
        number += 1


def data_of(file: StoredFile) -> bytes:
    """All of its bytes: at most ``CHATUI_FILE_MB`` as it was when the file was kept."""
    return b"".join(pieces(file))
