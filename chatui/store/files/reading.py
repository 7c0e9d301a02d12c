"""Reads stored files: which there are, and their bytes, piece by piece."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

from chatui.models import FilePiece, StoredFile


def of_turns(turn_ids: Collection[UUID]) -> Mapping[UUID, tuple[StoredFile, ...]]:
    """By turn, the files that it made, with their contents, in the order of their names. One statement; none for no turns."""
    found: dict[UUID, list[StoredFile]] = defaultdict(list)
    rows = StoredFile.objects.filter(turn__in=turn_ids).select_related("content").order_by("created_at", "name")
    for row in rows if turn_ids else ():
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
    """Its bytes, one piece in memory at a time and no cursor left open between two."""
    number = 0
    while (data := FilePiece.objects.filter(content=file.content_id, number=number).values_list("data", flat=True).first()) is not None:
        yield bytes(data)
        number += 1


def data_of(file: StoredFile) -> bytes:
    """All of its bytes: at most ``CHATUI_FILE_MB`` as it was when the file was kept."""
    return b"".join(pieces(file))
