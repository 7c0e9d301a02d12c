"""Stores many frames at once, each below its parent, in short transactions that let other writers in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chatui.models import Conversation, Message, SearchEntry
from chatui.models.message import Author
from chatui.store import search_index, transcripts
from chatui.store.short_transactions import short_transaction
from chatui.store.transcripts import FrameMetadata
from renderer.frames import Frame

BATCH_MESSAGES = 200
BATCH_CHARS = 200_000
"""The most in one transaction; a longer message has one of its own."""

_WHOLE = FrameMetadata()


@dataclass(frozen=True, slots=True)
class Placed:
    """A frame with the number of its parent among those before it; None for a root. ``at``: when it was written; None: now."""

    frame: Frame
    parent: int | None
    metadata: FrameMetadata = _WHOLE
    at: datetime | None = None


def append_tree(conversation: Conversation, frames: Sequence[Placed], author: Author, before_batch: Callable[[], None]) -> list[UUID]:
    """Store frames in a conversation that has no message yet, and return their keys. ``before_batch`` is called in each transaction."""
    keys: list[UUID] = []
    for messages, entries in _batches(conversation, frames, author, keys):
        with short_transaction():
            before_batch()
            Message.objects.bulk_create(messages)
            SearchEntry.objects.bulk_create(entries)
    return keys


def written_at(conversation: Conversation, messages: Iterable[Message]) -> datetime | None:
    """The latest time of these messages that was imported; messages without one have the time of the import, or a later one."""
    imported = conversation.imported_at
    return max((message.created_at for message in messages if imported and message.created_at < imported), default=None)


def _batches(
    conversation: Conversation, frames: Iterable[Placed], author: Author, keys: list[UUID]
) -> Iterator[tuple[list[Message], list[SearchEntry]]]:
    """Rows, ready to be written: work that needs no transaction is done before it begins. Their keys are added to ``keys``."""
    messages, entries, chars = list[Message](), list[SearchEntry](), 0
    for position, item in enumerate(frames):
        row = transcripts.row_of(conversation, item.frame, author, item.metadata)
        message = row.message
        message.parent_id, message.position = None if item.parent is None else keys[item.parent], position
        if item.at is not None:
            message.created_at = item.at
        keys.append(message.pk)
        if messages and (len(messages) >= BATCH_MESSAGES or chars + len(message.text) > BATCH_CHARS):
            yield messages, entries
            messages, entries, chars = [], [], 0
        messages.append(message)
        chars += len(message.text)
        if row.found_by is not None and (entry := search_index.entry(message, row.found_by)):
            entries.append(entry)
    if messages:
        yield messages, entries
