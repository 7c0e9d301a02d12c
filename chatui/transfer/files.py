"""File downloads: one file by its URL, or all of a conversation's files for an archive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from chatui.audit_log.record import Visitor
from chatui.models import Conversation, StoredFile, User
from chatui.permissions import files
from chatui.store.files import reading

DOWNLOAD_ACTION = "file download"
"""The action in the audit log when staff download somebody's file: one of ``debug_views.DOWNLOADS``."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download.

    ``picture_type``: the media type of a picture that may be shown inline; empty for everything else, whatever its name is. ``pieces``: the
    content, ``size`` bytes in total.
    """

    name: str = field(repr=False)
    size: int
    picture_type: str
    pieces: Iterator[bytes] = field(repr=False)


def own(user: User | None, file_id: UUID) -> Download:
    """The person's own file. Raises as ``files.own_file``."""
    return _download(files.own_file(user, file_id))


def hidden(visitor: Visitor, conversation_id: UUID, file_id: UUID) -> Download:
    """A file for the debug view of staff. Raises as ``access.view_hidden``."""
    return _download(files.hidden_file(visitor, conversation_id, file_id, action=DOWNLOAD_ACTION))


def _download(file: StoredFile) -> Download:
    content = file.content
    return Download(file.name, content.size, content.media_type if content.width else "", reading.pieces(file))


def for_archive(row: Conversation, folder: str) -> Iterator[tuple[str, bytes]]:
    """The path below ``folder`` and the bytes of each file of a conversation, one at a time; for each name, the newest file."""
    for file, data in reading.with_data(reading.of_conversation(row.pk)):
        yield f"{folder}/{file.name}", data
