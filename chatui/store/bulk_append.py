"""Stores many frames at once, each below its parent, and keeps track of the imports that do so.

The transactions are short and let other writers in between. Imports in progress are hidden in the bin, held by a lease, and erased if their
process has died. The lease uses the database's clock: another machine's must not end it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from chatui.database import connections
from chatui.database.connections import short_transaction
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message, SearchEntry
from chatui.models.user import User
from chatui.store import search_index, transcripts
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


def append_tree(conversation: Conversation, frames: Sequence[Placed]) -> list[UUID]:
    """Store the frames of an import that has no message yet, and return their keys. Each transaction extends its lease, as ``renew``."""
    keys: list[UUID] = []
    for messages, entries in _batches(conversation, frames, keys):
        with short_transaction():
            renew(conversation)
            Message.objects.bulk_create(messages)
            SearchEntry.objects.bulk_create(entries)
    return keys


def written_at(conversation: Conversation, messages: Iterable[Message]) -> datetime | None:
    """The latest time of these messages that was imported; messages without one have the time of the import, or a later one."""
    imported = conversation.imported_at
    return max((message.created_at for message in messages if imported and message.created_at < imported), default=None)


def _batches(conversation: Conversation, frames: Iterable[Placed], keys: list[UUID]) -> Iterator[tuple[list[Message], list[SearchEntry]]]:
    """Rows, ready to be written: work that needs no transaction is done before it begins. Their keys are added to ``keys``."""
    messages, entries, chars = list[Message](), list[SearchEntry](), 0
    for position, item in enumerate(frames):
        row = transcripts.row_of(conversation, item.frame, Author.IMPORT, item.metadata)
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


LEASE = timedelta(seconds=60)
"""What ends now is over: SQLite's clock has milliseconds, and an erasure may begin in the one in which it is asked for."""


class ImportLostError(Exception):
    """The conversation was erased, or considered abandoned: nothing more may be written into it."""


class ImportedMeanwhileError(Exception):
    """Another upload of the same export was completed since this one began."""


def begin(conversation: Conversation) -> None:
    """Create the row of an import, hidden until ``complete``."""
    conversation.imported_at = conversation.deleted_at = timezone.now()
    conversation.unfinished_until = connections.after(LEASE)
    conversation.save(force_insert=True)


def is_in_progress(person: User, key: str | None = None) -> bool:
    """Whether an import of this person is being written; ``key``: that with this one."""
    rows = Conversation.objects.filter(owner=person, unfinished_until__gt=connections.now())
    return (rows if key is None else rows.filter(import_key=key)).exists()


def renew(conversation: Conversation) -> None:
    """Extend the lease. Raises ImportLostError if it has ended."""
    held = Conversation.objects.filter(pk=conversation.pk, unfinished_until__gt=connections.now())
    if not held.update(unfinished_until=connections.after(LEASE)):
        raise ImportLostError


@transaction.atomic
def complete(conversation: Conversation, last: UUID) -> None:
    """The import is complete: show it to its owner, with the branch of its ``last`` message open.

    Raises:
        ImportLostError: see ``renew``.
        ImportedMeanwhileError: see there.
    """
    renew(conversation)
    conversation.deleted_at = conversation.unfinished_until = None
    try:
        conversation.save(update_fields=["deleted_at", "unfinished_until", "created_at", "active_at", "archived_at", "is_pinned", "folder"])
    except IntegrityError as error:
        raise ImportedMeanwhileError from error
    transcripts.activate(conversation, conversation.owner, Message(pk=last))
