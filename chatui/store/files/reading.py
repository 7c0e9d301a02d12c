"""Reads stored files: lists them, and returns their bytes piece by piece."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from django.db.models import QuerySet

from chatui.models import FilePiece, StoredFile
from chatui.store.files import encryption

_TOGETHER = 100
_TOGETHER_BYTES = 4 * 1024 * 1024
"""The most files, and bytes, read in one statement."""


def of_turns(turn_ids: Collection[UUID]) -> Mapping[UUID, tuple[StoredFile, ...]]:
    """The files of each turn, with their contents, in order of creation. One statement; none for no turns."""
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
        yield encryption.decrypted(file.content, number, bytes(data)) if file.content.is_encrypted else bytes(data)
        number += 1


def with_data(files: Iterable[StoredFile]) -> Iterator[tuple[StoredFile, bytes]]:
    """Each file with all of its bytes, in the same order.

    Small files are read together, to save statements. At most ``_TOGETHER_BYTES``, or one file, are in memory. Raises as ``pieces``.
    """
    together: list[StoredFile] = []
    for file in files:
        if sum(each.content.size for each in (*together, file)) > _TOGETHER_BYTES or len(together) == _TOGETHER:
            yield from _read_together(together)
            together = []
        together.append(file)
    yield from _read_together(together)


def _read_together(files: Sequence[StoredFile]) -> Iterator[tuple[StoredFile, bytes]]:
    if len(files) < 2:
        yield from ((file, data_of(file)) for file in files)
        return
    found: dict[int, list[bytes]] = defaultdict(list)
    rows = FilePiece.objects.filter(content__in={file.content_id for file in files}).order_by("content", "number")
    for content_id, data in rows.values_list("content_id", "data"):
        found[content_id].append(bytes(data))
    for file in files:
        stored = found[file.content_id]
        if file.content.is_encrypted:
            yield file, b"".join(encryption.decrypted(file.content, number, data) for number, data in enumerate(stored))
        else:
            yield file, b"".join(stored)


def data_of(file: StoredFile) -> bytes:
    """All bytes of a file: at most the ``CHATUI_FILE_MB`` in force when it was stored."""
    return b"".join(pieces(file))
