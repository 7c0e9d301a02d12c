"""What owners do with several of their conversations at once: delete, archive, move, undo that, and empty the bin.

A conversation in which an answer is being written is never deleted with others. Each change can be undone until the next one: a deletion
by its time, which all of its conversations share, another change by the places where the conversations were.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from chatui.audit_log.record import Visitor, record
from chatui.database.connections import short_transaction
from chatui.display.conversation_list import ShownConversation, ShownList, latest_of, shown_conversation
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access, shares
from chatui.store import erasure

MAX_CHOSEN = 200
"""The most conversations in one choice: where each of them was is remembered until the next change."""
_BATCH = 200

DELETE, ARCHIVE, MOVE = "delete", "archive", "move"


@dataclass(frozen=True, slots=True)
class ChangedConversations:
    """What was changed."""

    what: str
    """DELETE, ARCHIVE or MOVE."""
    keys: Sequence[UUID]
    undo: Mapping[str, Any]
    """A JSON value for ``undo``. It has keys and times only."""
    unchanged: int = 0
    """How many were left alone because an answer is being written in them."""


@dataclass(frozen=True, slots=True)
class OwnData:
    """How many conversations a person has outside the bin, of these archived and without a running answer, and in the bin.

    ``links``: valid share links to those without a running answer. They show nothing while their conversation is in the bin.
    """

    conversations: int
    archived: int
    idle: int
    in_bin: int
    links: int

    @property
    def running(self) -> int:
        """How many ``delete_all`` leaves alone."""
        return self.conversations - self.idle


def summary(person: User) -> OwnData:
    mine = access.own_chosen(person)
    idle = access.idle(mine)
    links = shares.own_share_links(person).filter(conversation__in=idle.values("pk"))
    return OwnData(
        mine.count(),
        mine.exclude(archived_at=None).count(),
        idle.count(),
        access.own_chosen(person, deleted=True).count(),
        links.count(),
    )


def choosable(person: User, start: str = "") -> ShownList:
    """A page of the person's conversations, the latest first, with those in folders and in the archive."""
    rows = access.own_chosen(person).select_related("folder")

    def show(row: Conversation) -> ShownConversation:
        return replace(shown_conversation(row), folder_name=row.folder.name if row.folder else "")

    return latest_of(rows, "active_at", start, show)


def delete(person: User, keys: Collection[UUID] | None = None) -> ChangedConversations:
    """Put these conversations (None: all of the person's) into the bin, except those in which an answer is being written."""
    at, found = timezone.now(), access.own_chosen(person, keys)
    for batch in _batches(list(found.values_list("pk", flat=True))):
        with short_transaction():
            access.idle(access.own_chosen(person, batch)).update(deleted_at=at)
    deleted = list(_deleted_at(person, at).values_list("pk", flat=True))
    return ChangedConversations(DELETE, deleted, {"deleted_at": at.isoformat()}, found.count())


def delete_all(visitor: Visitor) -> ChangedConversations:
    """Put all of the visitor's conversations into the bin, as ``delete``. Recorded."""
    change = delete(access.person_of(visitor))
    record("delete all conversations", visitor, detail=f"{len(change.keys)} into the bin")
    return change


def empty_bin(visitor: Visitor) -> int:
    """Erase everything in the visitor's bin for good; returns the number of conversations. Recorded.

    From now on, nobody can read or restore them. The rows are deleted within some seconds or minutes, by any server.
    """
    keys = erasure.close_bin(access.person_of(visitor).pk)
    record("empty the bin", visitor, detail=f"{len(keys)} conversations")
    return len(keys)


def archive(person: User, keys: Collection[UUID]) -> ChangedConversations:
    return _put(ARCHIVE, person, keys, is_pinned=False, archived_at=timezone.now())


def move(person: User, keys: Collection[UUID], folder_id: str) -> ChangedConversations:
    """Put these conversations into a folder, or into the list if ``folder_id`` is empty. They are then neither pinned nor archived."""
    with transaction.atomic():
        # Locked, so that nobody deletes the folder before the conversations are in it.
        folder = access.own_folder(person, folder_id, locked=True) if folder_id else None
        return _put(MOVE, person, keys, is_pinned=False, archived_at=None, folder=folder)


def undo(person: User, change: Mapping[str, Any]) -> list[Conversation]:
    """Undo a change, and return the conversations with their marks. What was erased, deleted or handed over meanwhile stays as it is."""
    if "deleted_at" in change:
        keys = _restore(person, parse_datetime(change["deleted_at"]))
    else:
        keys = [UUID(key) for *_, those in change["places"] for key in those]
        folders = {str(folder.pk): folder for folder in access.own_folders(person)}
        with transaction.atomic():
            for is_pinned, archived_at, folder, those in change["places"]:
                at = parse_datetime(archived_at) if archived_at else None
                access.own_chosen(person, map(UUID, those)).update(is_pinned=is_pinned, archived_at=at, folder=folders.get(folder))
    return list(access.own_chosen(person, keys))


def _restore(person: User, at: datetime | None) -> list[UUID]:
    """Take everything out of the bin that was deleted at exactly that time; returns the keys."""
    keys = list(_deleted_at(person, at).values_list("pk", flat=True))
    imported_again = access.own_import_keys(person)  # that import has the key now
    for batch in _batches(keys):
        with short_transaction():
            rows = access.own_chosen(person, batch, deleted=True)
            rows.filter(import_key__in=imported_again).update(import_key="")
            rows.update(deleted_at=None)
    return keys


def _put(what: str, person: User, keys: Collection[UUID], **columns: object) -> ChangedConversations:
    places: dict[tuple[bool, str, str], list[str]] = {}
    with transaction.atomic():
        rows = list(access.own_chosen(person, keys))
        for row in rows:
            place = (row.is_pinned, row.archived_at.isoformat() if row.archived_at else "", str(row.folder_id or ""))
            places.setdefault(place, []).append(row.pk.hex)
        found = [row.pk for row in rows]
        access.own_chosen(person, found).update(**columns)
    return ChangedConversations(what, found, {"places": [[*place, those] for place, those in places.items()]})


def _deleted_at(person: User, at: datetime | None) -> QuerySet[Conversation]:
    return access.own_chosen(person, deleted=True).filter(deleted_at=at)


def _batches(keys: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    return (keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH))
