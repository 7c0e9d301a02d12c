"""Keeps many frames at once, each under the one before it: in short transactions, so that other writers get their turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from chatui.models import Conversation, Message, SearchEntry
from chatui.models.message import Author
from chatui.store import search_index, transcripts
from chatui.store.short_transactions import short_transaction
from chatui.store.transcripts import Kept
from renderer.frames import Frame

BATCH_MESSAGES = 200
BATCH_CHARS = 200_000
"""What one transaction takes; a message that is longer has one of its own."""


def append_chain(
    conversation: Conversation, frames: Iterable[tuple[Frame, Kept]], author: Author, before_batch: Callable[[], None]
) -> Message | None:
    """Keep frames in a conversation that has no message yet; the last row is returned. ``before_batch`` is called in each transaction."""
    last: Message | None = None
    for messages, entries in _batches(conversation, frames, author):
        with short_transaction():
            before_batch()
            Message.objects.bulk_create(messages)
            SearchEntry.objects.bulk_create(entries)
        last = messages[-1]
    return last


def _batches(
    conversation: Conversation, frames: Iterable[tuple[Frame, Kept]], author: Author
) -> Iterator[tuple[list[Message], list[SearchEntry]]]:
    """Rows, ready to be written: what can be done outside a transaction is done by then."""
    messages, entries, chars = list[Message](), list[SearchEntry](), 0
    parent: Message | None = None
    for position, (frame, kept) in enumerate(frames):
        row = transcripts.row_of(conversation, frame, author, kept)
        row.message.parent, row.message.position = parent, position
        parent = row.message
        if messages and (len(messages) >= BATCH_MESSAGES or chars + len(row.message.text) > BATCH_CHARS):
            yield messages, entries
            messages, entries, chars = [], [], 0
        messages.append(row.message)
        chars += len(row.message.text)
        if row.found_by is not None and (entry := search_index.entry(row.message, row.found_by)):
            entries.append(entry)
    if messages:
        yield messages, entries
